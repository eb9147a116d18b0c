"""Pages opened in a browser that all tests share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opened_page import Opened, html_of, opened_in

SIZE: Any = {"width": 1280, "height": 900}


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a page in a window of its own."""
    contexts: list[Any] = []

    def opener(html: str, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(viewport=SIZE, **options))
        opened = opened_in(contexts[-1])
        opened.visit(file.as_uri(), scripted=options.get("java_script_enabled", True))
        return opened

    yield opener
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def host_window(
    browser: Any, host_run: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Opened, str]]:
    """A window that all tests of the page of a host recording share, and where that page is."""
    file = tmp_path_factory.mktemp("host") / "report.html"
    file.write_text(html_of(host_run), encoding="utf-8")
    context = browser.new_context(viewport=SIZE)
    yield opened_in(context), file.as_uri()
    context.close()


@pytest.fixture
def host_page(host_window: tuple[Opened, str]) -> Iterator[Opened]:
    opened, address = host_window
    opened.errors.clear()
    opened.requests.clear()
    opened.page.emulate_media(media="screen")
    opened.page.set_viewport_size(SIZE)
    opened.visit(address)
    yield opened
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1
