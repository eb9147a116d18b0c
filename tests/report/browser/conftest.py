"""Pages opened in a browser that all tests share, each in a window of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opened_page import Opened, html_of


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts: list[Any] = []

    def opener(html: str, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda said: opened.errors.append(f"{said.type}: {said.text}"))
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            opened.page.wait_for_selector(
                "#timeline-sums tr, main:not(:has(#timeline-data))", state="attached"
            )
        return opened

    yield opener
    for context in contexts:
        context.close()


@pytest.fixture
def host_page(open_page: Any, host_run: Any) -> Iterator[Opened]:
    opened = open_page(html_of(host_run))
    yield opened
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1
