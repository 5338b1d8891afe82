"""Access control: one browser of this machine, by a token that works once and then a cookie.

Every request must name this server as its host, come from its own pages, and carry the cookie.
Responses forbid everything that does not come from the server itself, and are never stored.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),  # with no-referrer, forms would name no origin
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)
SAFE = ("GET", "HEAD")
REFUSED = b"403: this address is for one browser of this computer only. Use the printed address."


class Access:
    """Secrets of one studio: the token of its printed address, and the cookie it is traded for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token: str | None = secrets.token_urlsafe(32)
        self.secret = secrets.token_urlsafe(32)
        self.cookie = f"microagg-studio-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    @property
    def address(self) -> str:
        """Address to open in a browser; it works once."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def take_token(self, query: bytes) -> bool:
        """Return True for the token, the first time that it is used."""
        offered = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        if self.token is None or not hmac.compare_digest(offered.encode(), self.token.encode()):
            return False
        self.token = None
        return True

    def has_cookie(self, header: str) -> bool:
        """Return True if a Cookie header has the secret."""
        try:
            morsel = SimpleCookie(header).get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and hmac.compare_digest(
            morsel.value.encode(), self.secret.encode()
        )

    def is_own(self, scope: Any, headers: dict[str, str]) -> bool:
        """Return True if a request is addressed to this server and comes from its own pages."""
        host = headers.get("host", "")
        if host not in self.hosts:
            return False
        origin = headers.get("origin")
        if origin is not None or scope["method"] not in SAFE:
            return origin == f"http://{host}"
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


class AccessMiddleware:
    """ASGI middleware that refuses every request that `Access` does not allow."""

    def __init__(self, app: Any, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 403, trade the token for the cookie, or pass the request on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in HEADERS]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if not self._access.is_own(scope, headers):
            await _answer(send_with_headers, 403, [], REFUSED)
        elif scope["path"] == "/" and self._access.take_token(scope.get("query_string", b"")):
            cookie = (
                f"{self._access.cookie}={self._access.secret}; HttpOnly; SameSite=Strict; Path=/"
            )
            more = [(b"location", b"/file"), (b"set-cookie", cookie.encode())]
            await _answer(send_with_headers, 303, more, b"")
        elif not self._access.has_cookie(headers.get("cookie", "")):
            await _answer(send_with_headers, 403, [], REFUSED)
        else:
            await self._app(scope, receive, send_with_headers)


async def _answer(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    size = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [plain, size, *headers]}
    )
    await send({"type": "http.response.body", "body": body})
