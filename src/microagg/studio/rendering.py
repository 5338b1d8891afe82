"""Rendering of pages: templates, what all of them need, and answers to errors."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from microagg.formatting import shortened
from microagg.studio.session import Session
from microagg.studio.upload import TooLargeError
from microagg.studio.worker import TaskError

STEPS = ("file", "columns", "protection", "run", "look", "release")
ROLES = {
    "quasi": ("protect", "Others may know it, such as age or postcode. Its values are averaged."),
    "confidential": (
        "secret",
        "Sensitive, such as a diagnosis. Released unchanged; l and t protect it.",
    ),
    "identifier": ("leave out", "It names a person, such as a name or an insurance number."),
    "keep": ("unchanged", "Harmless even if somebody knows it. Released unchanged."),
    "weight": ("weight", "How many people a record stands for."),
    "stratum": (
        "groups within",
        "Such as regions. Released unchanged; groups never mix them.",
    ),
    "unit": ("household", "Household or company that several records belong to. Left out."),
}
"""Role: a short word for the choice, and what it means."""
KINDS = {
    "numeric": ("numeric", "An amount, a count or a date. A group gets an average."),
    "ordinal": ("ordered", "Levels in an order, such as schools. A group gets the middle one."),
    "nominal": ("category", "Words or codes without an order. A group gets the most frequent one."),
}
"""Kind: a short word for the choice, and what it means."""
NO_CHART = {"svg": "", "first": "", "last": ""}
A_PAGE = 40
"""Columns on one page."""
LONGEST_NAME = 80

environment = Environment(
    loader=PackageLoader("microagg.studio"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
environment.filters["name"] = lambda text: shortened(_without_marks(str(text)), LONGEST_NAME)


def _without_marks(text: str) -> str:
    """Return a text without letters that turn the direction of writing."""
    marks = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
    return "".join(letter for letter in text if ord(letter) not in marks)


def session_of(request: Request) -> Session:
    """Return the session of the studio."""
    return request.app.state.session


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    session = session_of(request)
    step = template.partition(".")[0]
    html = environment.get_template(template).render(
        session=session, step=step, steps=STEPS, allowed=_allowed(session), **values
    )
    return HTMLResponse(html, status)


def _allowed(session: Session) -> tuple[str, ...]:
    """Return the steps that can be gone to."""
    if session.opened is None:
        return STEPS[:1]
    if session.run is None or session.run.state != "done":
        return STEPS[: 4 if session.run is not None else 3]
    return STEPS if session.files is not None else STEPS[:5]


def go_to(path: str) -> RedirectResponse:
    """Return the answer to a form: go and look there."""
    return RedirectResponse(path, 303)


def needs_file(
    page: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Send the user to the first page while no file is open."""

    @functools.wraps(page)
    async def checked(request: Request) -> Response:
        if session_of(request).opened is None:
            return go_to("/file")
        return await page(request)

    return checked


async def on_task_error(request: Request, error: Exception) -> Response:
    """Answer a refusal with its sentence, to the script or as a page."""
    status = 413 if isinstance(error, TooLargeError) else 422
    if request.url.path == "/upload":
        return JSONResponse({"error": str(error)}, status, {"connection": "close"})
    return render(request, "error.html", status, sentence=str(error))


async def on_disconnect(request: Request, error: Exception) -> Response:
    """Answer nobody: the upload broke off."""
    return Response(status_code=400)


async def on_http_error(request: Request, error: Any) -> Response:
    """Answer an address or method that does not exist."""
    sentence = (
        "There is no such page; check the address."
        if error.status_code == 404
        else "This page does not accept that request; go back."
    )
    return render(request, "error.html", error.status_code, sentence=sentence)


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an unforeseen error with its kind only: its message may quote the data."""
    sentence = f"A bug in microagg ({type(error).__name__}). Your file is untouched; go back."
    return render(request, "error.html", 500, sentence=sentence)


ERRORS = {
    TaskError: on_task_error,
    ClientDisconnect: on_disconnect,
    HTTPException: on_http_error,
    Exception: on_bug,
}
