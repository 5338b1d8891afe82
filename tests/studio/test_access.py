"""Nobody but the one browser gets anything: cookie, host and origin on every route."""

from __future__ import annotations

import re
from typing import Any

import pytest

from microagg.studio.pages import ROUTES
from microagg.studio.security import POLICY, Access

PATHS = [
    (method, re.sub(r"\{.*?\}", "public", route.path))
    for route in ROUTES
    for method in sorted(route.methods or ())
]


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"cookie": "microagg-studio-8123=guess"},
        {"cookie": ""},
        {"host": "evil.example"},
        {"host": "127.0.0.1:9999"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_every_route_refuses(studio: Any, method: str, path: str, wrong: dict[str, str]) -> None:
    answer = studio.client.request(method, path, headers=wrong)
    assert answer.status_code == 403
    assert "microagg-studio" not in answer.headers.get("set-cookie", "")


def test_a_form_without_origin_is_refused(studio: Any) -> None:
    request = studio.client.build_request("POST", "/columns")
    del request.headers["origin"]
    assert studio.client.send(request).status_code == 403


def test_another_site_cannot_fetch(studio: Any) -> None:
    request = studio.client.build_request("GET", "/file", headers={"sec-fetch-site": "cross-site"})
    del request.headers["origin"]
    assert studio.client.send(request).status_code == 403


def test_the_token_works_once(studio: Any) -> None:
    studio.client.cookies.clear()
    try:
        for token in ("", "guess", studio.access.token or ""):
            assert studio.client.get(f"/?token={token}").status_code == 403
    finally:
        studio.client.cookies.set(studio.access.cookie, studio.access.secret)
    assert studio.client.get("/file").status_code == 200


def test_a_token_becomes_a_strict_cookie() -> None:
    access = Access(1)
    query = access.address.partition("?")[2].encode()
    assert access.take_token(query)
    assert not access.take_token(query)
    assert access.has_cookie(f"a=b; {access.cookie}={access.secret}")
    assert not access.has_cookie(f"{access.cookie}={access.secret}x")


@pytest.mark.parametrize("path", ["/file", "/static/studio.css", "/nowhere", "/upload"])
def test_every_answer_has_the_policy_and_is_not_stored(studio: Any, path: str) -> None:
    headers = studio.client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_a_web_socket_is_closed(studio: Any) -> None:
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), studio.client.websocket_connect("/file"):
        pass
