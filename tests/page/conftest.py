"""The page's server, the system's Chromium, and a tab that must stay silent."""

import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from page_server import Served

    served = Served(tmp_path_factory.mktemp("page") / "rows")
    yield served
    served.end()


@pytest.fixture(scope="module")
def browser():
    if sys.platform != "linux":
        pytest.skip("drives the system's Chromium on Linux")
    playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    known = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    if (chromium := next(filter(None, known), None)) is None:
        pytest.skip("needs Chromium on this machine")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture
def tab(browser, server) -> Iterator[Any]:
    """A tab that has the cookie, must not complain and must not ask anybody else."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    page, bad = context.new_page(), []
    page.on("console", lambda said: bad.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: bad.append(str(error)))
    own = (f"http://127.0.0.1:{server.port}/", "data:", "blob:", "file:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else bad.append(asked.url))
    page.expected = []
    name, _, value = server.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": server.base, "sameSite": "Strict"}])
    yield page
    left = [said for said in bad if not any(part in said for part in page.expected)]
    context.close()
    assert left == []
