"""The studio's server: its folder, its address, and its end."""

from __future__ import annotations

import contextlib
import logging
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from microagg.errors import InputError
from microagg.studio.pages import ROUTES
from microagg.studio.rendering import ERRORS
from microagg.studio.security import Access, AccessMiddleware
from microagg.studio.session import Session
from microagg.studio.upload import LARGEST

HOST = "127.0.0.1"


def make_app(
    session: Session,
    access: Access,
    *,
    limit: int = LARGEST,
    path: Path | None = None,
    demo: bool = False,
) -> Starlette:
    """Return the application; `path` is a file to open at once, `demo` a made-up one."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        session.worker.start()
        if path is not None or demo:
            session.begin_opening(path)
        try:
            yield
        finally:
            session.close()

    app = Starlette(
        routes=ROUTES,
        exception_handlers=ERRORS,
        middleware=[Middleware(AccessMiddleware, access=access)],
        lifespan=lifespan,
    )
    app.state.session, app.state.limit = session, limit
    return app


def serve(
    path: Path | None,
    *,
    port: int = 0,
    limit: int = LARGEST,
    demo: bool = False,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C; `path` is a file to open, `demo` opens a table of made-up people.

    The server listens on this machine only. `announce` gets the address, which works once.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((HOST, port))
        except (OSError, OverflowError):
            raise InputError(f"port {port} cannot be used; leave --port out.") from None
        folder = Path(tempfile.mkdtemp(prefix="microagg-studio-"))
        session = Session(folder)
        try:
            access = Access(listener.getsockname()[1])
            app = make_app(session, access, limit=limit, path=path, demo=demo)
            logging.getLogger("uvicorn.error").disabled = True  # tracebacks may quote the data
            config = uvicorn.Config(
                app, log_level="critical", access_log=False, lifespan="on", log_config=None,
                server_header=False, date_header=False, timeout_graceful_shutdown=1,
            )  # fmt: skip
            listener.listen()
            announce(access.address)
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            session.close()
