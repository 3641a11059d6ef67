"""Opens pages in a real browser, where one is found."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    if not found:
        pytest.skip("needs a browser: chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found[0], args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(browser, file: Path, width: int = 1200, scheme: str = "light"):
    """The page, drawn; afterwards it must have said nothing to the console and asked for nothing but itself."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    yield page
    assert said == [] and [url for url in asked if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
    context.close()
