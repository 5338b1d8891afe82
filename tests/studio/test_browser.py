"""The studio in a browser: by keyboard, in light and dark, without a word from axe or policy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import running

pytestmark = pytest.mark.slow
SERVE = "from microagg.cli.start import start; start()"
WIDTH, HEIGHT = 1100, 760


def needed(what: str, present: Any) -> Any:
    """Return what is present; skip with a sentence that names the package, or fail in CI."""
    if present:
        return present
    reason = f"needs {what}"
    if os.environ.get("MICROAGG_BROWSER_REQUIRED"):
        pytest.fail(reason)
    return pytest.skip(reason)


def module(name: str, package: str) -> Any:
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        return needed(f"the package {package}, of the extra test", None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start Debian's chromium."""
    playwright = module("playwright.sync_api", "playwright")
    path = needed("chromium: apt-get install chromium", shutil.which("chromium"))
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def start(folder: Path, *arguments: str) -> str:
    """Start a studio in a process of its own and return its address."""
    process = running.start("-c", SERVE, "studio", *arguments, folder=folder)
    assert process.stdout is not None
    for line in process.stdout:
        if "http://" in line:
            return line.strip()
    raise AssertionError(process.stderr and process.stderr.read())


def check_accessible(page: Any) -> None:
    """Assert that axe finds nothing to complain about."""
    axe = module("axe_playwright_python.sync_playwright", "axe-playwright-python")
    # the script of axe is run by the driver, outside the policy of the page
    violations = axe.Axe().run(page).response["violations"]
    assert not violations, [
        (violation["id"], violation["nodes"][0]["html"]) for violation in violations
    ]


def keep_running(route: Any) -> None:
    """Pass on the state of a run, but keep its page on the screen."""
    response = route.fetch()
    route.fulfill(response=response, json={**response.json(), "state": "running"})


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_from_a_file_to_a_release_by_keyboard(chromium: Any, tmp_path: Path, scheme: str) -> None:
    """Eight keys at most, if the proposal is taken; screenshots go to MICROAGG_SCREENSHOTS."""
    address = start(tmp_path, "--demo")
    context = chromium.new_context(
        color_scheme=scheme, viewport={"width": WIDTH, "height": HEIGHT}, accept_downloads=True
    )
    context.set_default_timeout(300_000)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    actions = 0

    def press(selector: str) -> None:
        nonlocal actions
        page.locator(selector).focus()
        page.keyboard.press("Enter")
        actions += 1

    def finished(step: str) -> None:
        check_accessible(page)
        folder = os.environ.get("MICROAGG_SCREENSHOTS")
        if folder and scheme == "light":
            page.screenshot(path=str(Path(folder) / f"studio-{step}.png"))

    page.goto(address)
    page.wait_for_selector("a.primary")
    finished("file")
    press("a.primary")
    page.wait_for_selector("form#columns")
    finished("columns")
    press("form#columns button.primary")
    page.wait_for_selector("#preview:has(caption):not(:has([data-next]))")
    finished("protection")
    page.route("**/run/state", keep_running)
    press("form#protection button.primary")
    page.wait_for_selector("#bar, main a.primary")
    if page.locator("#bar").count():
        page.wait_for_selector('#told:has-text("so far"), #told:has-text("are formed")')
    finished("run")
    page.unroute_all(behavior="ignoreErrors")
    if page.locator("#bar").count() == 0:  # it was done before the page was shown
        press("main a.primary")
    page.wait_for_url("**/look")
    finished("look")
    page.locator("h1").click()
    page.keyboard.press("c")
    assert page.locator("html.curtain").count() == 1
    assert not page.locator("tbody.original").first.is_visible()
    page.keyboard.press("c")
    press("button.verify")
    page.wait_for_url("**/release")
    finished("release")
    for link in ("main a.primary", ".internal a"):
        with page.expect_download() as download:
            press(link)
        assert download.value.suggested_filename in ("public.zip", "internal.zip")
    assert actions <= 8
    page.go_back()
    page.wait_for_url("**/look")
    page.reload()
    assert page.locator("h1").inner_text() == "Look before you release"
    assert complaints == []
    assert {url.split("/")[2] for url in requests} == {address.split("/")[2]}
    second = chromium.new_context()
    strange = second.new_page()
    for url in (address, f"http://{address.split('/')[2]}/look"):
        answer = strange.goto(url)
        assert answer is not None
        assert answer.status == 403
    second.close()
    context.close()


@pytest.mark.nightly
def test_a_chosen_file_is_uploaded_and_roles_are_counted_again(
    chromium: Any, tmp_path: Path, people: Path
) -> None:
    address = start(tmp_path)
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.goto(address)
    check_accessible(page)
    page.set_input_files("#upload", str(people))
    page.wait_for_selector("a.primary")
    page.click("a.primary")
    page.wait_for_selector("#exposure .lead")
    with page.expect_response("**/columns/exposure") as counted:
        page.select_option("select[name=role-2]", "keep")
    assert counted.value.status == 200
    page.wait_for_function(
        "text => document.getElementById('exposure').innerHTML.trim() === text",
        arg=counted.value.text().strip(),
    )
    bad = tmp_path / "bad.csv"
    bad.write_text("a,a\n1,2\n", "utf-8")
    page.goto(page.url.replace("/columns", "/file"))
    page.set_input_files("#upload", str(bad))
    page.wait_for_selector("#message:not([hidden])")
    assert page.inner_text("#message").endswith(".")
    check_accessible(page)
    page.close()
