"""Pages of the studio: one address for each step, rendered on the server."""

from __future__ import annotations

import asyncio
import contextlib
import zipfile
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from microagg.studio.rendering import (
    A_PAGE,
    KINDS,
    NO_CHART,
    ROLES,
    go_to,
    needs_file,
    render,
    session_of,
)
from microagg.studio.session import Session
from microagg.studio.upload import receive_file, receive_form
from microagg.studio.worker import TaskError

AT_ONCE = 0.15
"""Seconds for which the answer to a form waits for a refusal; then it says that a run starts."""
LONGEST_NUMBER = 15
"""Digits of a number in an address or a form."""
MOST_STEPS = 20
"""Of a preview; its last step says that it is the last."""
NO_SUCH_FIELD = "The form has a column or a word that does not exist; reload the page."
STATIC = Path(__file__).parent / "static"
TYPES = {"studio.css": "text/css; charset=utf-8", "studio.js": "text/javascript; charset=utf-8"}


async def file_page(request: Request) -> Response:
    """Show the file as it was read, or ask for one."""
    session = session_of(request)
    fields = (session.opened or {}).get("reading_fields", [])
    if session.is_unread and not session.is_opening:
        fields = await session.call("reading_fields", reading=session.reading)
    return render(request, "file.html", limit=request.app.state.limit, reading_fields=fields)


async def file_form(request: Request) -> Response:
    """Read the file again with other options."""
    session = session_of(request)
    if session.opened is None and not session.is_unread:
        return go_to("/file")
    form = await receive_form(request)
    session.check_idle()
    reading = await session.call("reading", answers=_answers(form))
    await session.read_again(reading)
    return go_to("/file")


async def file_state(request: Request) -> Response:
    """Say if a file is still being read."""
    return JSONResponse({"opening": session_of(request).is_opening})


async def upload(request: Request) -> Response:
    """Take a file as the body of a request."""
    session = session_of(request)
    session.check_idle()
    path = await receive_file(request, session.folder, request.app.state.limit)
    try:
        await session.open(path, uploaded=True, reading={})
    except TaskError as error:  # kept, because it may be read with other options
        return JSONResponse({"error": str(error), "next": "/file"}, 422)
    return JSONResponse({"next": "/file"})


@needs_file
async def columns_page(request: Request) -> Response:
    """Show the columns with their proposed roles and kinds."""
    return await _columns(request)


async def _columns(request: Request, sentence: str = "", status: int = 200) -> Response:
    session = session_of(request)
    opened = session.opened or {}
    pages = -(-len(opened["columns"]) // A_PAGE)
    page = _number(request.query_params.get("page", "1"), 1, pages)
    numbers = list(range((page - 1) * A_PAGE, min(page * A_PAGE, len(opened["columns"]))))
    exposure, charts = await _exposure(session), [NO_CHART] * len(numbers)
    if not session.is_running:
        charts = await session.call("pictures", **session.source, columns=numbers)
    return render(
        request, "columns.html", status, numbers=numbers, charts=charts, roles=ROLES, kinds=KINDS,
        page=page, pages=pages, exposure=exposure, sentence=sentence,
    )  # fmt: skip


async def _exposure(session: Session) -> dict[str, Any]:
    """Count who stands alone; a refusal becomes its sentence."""
    if session.is_running:
        return {"sentences": ["Counted again when the run has ended."]}
    try:
        return await session.call("exposure", **session.source, choices=session.choices)
    except TaskError as error:
        return {"sentences": [str(error)]}


@needs_file
async def columns_form(request: Request) -> Response:
    """Take roles and kinds."""
    form = await receive_form(request)
    _take_columns(session_of(request), form)
    return go_to("/columns" if "codes" in form else "/protection")


@needs_file
async def columns_exposure(request: Request) -> Response:
    """Take roles and kinds, and return the fragment that says who stands alone."""
    session = session_of(request)
    _take_columns(session, await receive_form(request))
    return render(request, "_exposure.html", exposure=await _exposure(session))


def _take_columns(session: Session, form: dict[str, str]) -> None:
    """Keep valid answers; a number or a word that no page offers is refused."""
    session.check_idle()
    roles, kinds = list(session.choices["roles"]), list(session.choices["kinds"])
    questions = (session.opened or {})["questions"]
    for field, value in form.items():
        if field == "codes":  # all columns of a question
            for column in questions[_index(value, len(questions))]["codes"]:
                kinds[column] = "nominal"
        what, _, number = field.partition("-")
        if what not in ("role", "kind"):
            continue
        offered = ROLES if what == "role" else KINDS
        if value not in offered:
            raise TaskError(NO_SUCH_FIELD)
        (roles if what == "role" else kinds)[_index(number, len(roles))] = value
    if (roles, kinds) != (session.choices["roles"], session.choices["kinds"]):
        session.forget_release()
    session.choices = {**session.choices, "roles": roles, "kinds": kinds}


def _index(text: str, count: int) -> int:
    """Return a number of a form that is one of `count`."""
    if not text.isdecimal() or len(text) > LONGEST_NUMBER or int(text) >= count:
        raise TaskError(NO_SUCH_FIELD)
    return int(text)


@needs_file
async def protection_page(request: Request) -> Response:
    """Ask for k and all other settings."""
    return await _protection(request)


async def _protection(request: Request, status: int = 200) -> Response:
    session = session_of(request)
    if session.is_running:
        return go_to("/run")
    refused = session.run is not None and session.run.state == "refused"
    sentence = session.run.sentence if session.run is not None and refused else ""
    fields = await session.call("fields", answers=session.choices["settings"])
    exposure = await _exposure(session)
    return render(
        request, "protection.html", status, fields=fields, exposure=exposure, sentence=sentence
    )


@needs_file
async def protection_form(request: Request) -> Response:
    """Take the settings and start the run, if they are valid."""
    session = session_of(request)
    form = await receive_form(request)
    if "show" in form:
        await _take_settings(session, form)
        return go_to("/protection")
    run = session.begin_run(_answers(form))
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(run.checked.wait(), AT_ONCE)
    if run.state == "refused":
        return await _protection(request, 422)
    return go_to("/run")


@needs_file
async def protection_preview(request: Request) -> Response:
    """Take the settings and return the fragment with the preview for them."""
    session = session_of(request)
    session.check_idle()
    await _take_settings(session, await receive_form(request))
    step = _number(request.query_params.get("step", "0"), 0, MOST_STEPS)
    try:
        shown = await session.call("preview", **session.source, choices=session.choices, step=step)
    except TaskError as error:
        return render(request, "_preview.html", preview=None, sentence=str(error))
    return render(request, "_preview.html", preview=shown, sentence="")


async def _take_settings(session: Session, form: dict[str, str]) -> None:
    """Keep the answers to numbered fields, by the names of their settings."""
    session.check_idle()
    offered = await session.call("fields", answers=session.choices["settings"])
    names = {field["name"] for field in offered}
    new = {name: answer for name, answer in _answers(form).items() if name in names}
    answers = {**session.choices["settings"], **new}
    if answers != session.choices["settings"]:
        session.forget_release()
    session.choices = {**session.choices, "settings": answers}


def _answers(form: dict[str, str]) -> dict[str, str]:
    """Return the answers of numbered fields by the names that the form has for them."""
    return {
        name: form.get(f"field-{field.removeprefix('present-')}", "")
        for field, name in form.items()
        if field.startswith("present-")
    }


@needs_file
async def run_page(request: Request) -> Response:
    """Show how far the run is."""
    session = session_of(request)
    if session.run is None or session.run.state == "refused":
        return go_to("/protection")
    return render(request, "run.html", run=session.run.as_data(), summary=session.run.summary)


@needs_file
async def run_state(request: Request) -> Response:
    """Return how far the run is, as data."""
    session = session_of(request)
    return JSONResponse({"state": "none"} if session.run is None else session.run.as_data())


@needs_file
async def run_stop(request: Request) -> Response:
    """Keep the best so far."""
    session_of(request).stop_run()
    return go_to("/run")


@needs_file
async def run_discard(request: Request) -> Response:
    """End the run and keep nothing."""
    session_of(request).discard_run()
    return go_to("/protection")


@needs_file
async def look_page(request: Request) -> Response:
    """Show the release beside the original."""
    session = session_of(request)
    if session.run is None or session.run.state != "done":
        return go_to("/run")
    total = len((session.opened or {})["columns"])
    start = _number(request.query_params.get("start", "0"), 0, total)
    record = request.query_params.get("record")
    wanted = None if record is None else _number(record, 0, 10**12)
    sentence = ""
    try:
        shown = await session.call("look", start=start, record=wanted)
    except TaskError as error:
        sentence = str(error)
        shown = await session.call("look", start=start, record=None)
    return render(request, "look.html", look=shown, start=start, sentence=sentence)


@needs_file
async def release_form(request: Request) -> Response:
    """Verify the written table again and write the reports."""
    session = session_of(request)
    if session.run is None or session.run.state != "done":
        return go_to("/run")
    session.files = await session.call(
        "release", path=str(session.path), target=str(session.target)
    )
    return go_to("/release")


@needs_file
async def release_page(request: Request) -> Response:
    """Show the downloads, and the command that makes the same release."""
    session = session_of(request)
    if session.files is None:
        return go_to("/look")
    return render(request, "release.html", files=session.files)


@needs_file
async def download(request: Request) -> Response:
    """Return one of the two archives; public and internal files are never in one."""
    session = session_of(request)
    audience = request.path_params["audience"]
    if session.files is None or audience not in ("public", "internal"):
        raise HTTPException(404)
    archive = session.folder / "release" / f"{audience}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
        for path in session.files[audience]:
            pack.write(path, Path(path).name)
    return FileResponse(archive, filename=f"{audience}.zip", media_type="application/zip")


async def static(request: Request) -> Response:
    """Return the style sheet or the script."""
    name = request.path_params["name"]
    if name == "report.css":
        from microagg.release.report.front_style import FRONT_CSS

        return Response(FRONT_CSS, media_type="text/css; charset=utf-8")
    if name not in TYPES:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=TYPES[name])


async def no_icon(request: Request) -> Response:
    """Answer a browser that asks for an icon."""
    return Response(status_code=204)


async def start_page(request: Request) -> Response:
    """Send to the first step."""
    return go_to("/file")


def _number(text: str, low: int, high: int) -> int:
    """Return a number of an address within its bounds; what is none is the lowest."""
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        return low
    return min(max(int(text), low), max(low, high))


ROUTES = [
    Route("/", start_page),
    Route("/file", file_page),
    Route("/file", file_form, methods=["POST"]),
    Route("/file/state", file_state),
    Route("/upload", upload, methods=["POST"]),
    Route("/columns", columns_page),
    Route("/columns", columns_form, methods=["POST"]),
    Route("/columns/exposure", columns_exposure, methods=["POST"]),
    Route("/protection", protection_page),
    Route("/protection", protection_form, methods=["POST"]),
    Route("/protection/preview", protection_preview, methods=["POST"]),
    Route("/run", run_page),
    Route("/run/state", run_state),
    Route("/run/stop", run_stop, methods=["POST"]),
    Route("/run/discard", run_discard, methods=["POST"]),
    Route("/look", look_page),
    Route("/release", release_page),
    Route("/release", release_form, methods=["POST"]),
    Route("/release/{audience}.zip", download),
    Route("/static/{name}", static),
    Route("/favicon.ico", no_icon),
]
