"""The site of the documentation: every page has its place, and nothing comes from elsewhere."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "zensical.toml"
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?://[^\"\s>]+)")


def pages_of(entry: Any) -> Iterator[str]:
    """Yield the files that an entry of the navigation names."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from pages_of(value)
    else:
        for part in entry:
            yield from pages_of(part)


def test_the_navigation_names_each_page_once() -> None:
    navigation = tomllib.loads(CONFIGURATION.read_text())["project"]["nav"]
    docs = ROOT / "docs"
    files = [str(file.relative_to(docs)) for file in docs.rglob("*.md")]
    assert sorted(pages_of(navigation)) == sorted(files)


def test_no_line_becomes_a_heading_by_its_place() -> None:
    """At the start of a line, Markdown of Python takes `#4`, a thread, for a heading."""
    code = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    pages = {file: code.sub("", file.read_text()) for file in (ROOT / "docs").rglob("*.md")}
    headings = {
        file.name: re.findall(r"^#+[^#\s].*", text, re.MULTILINE) for file, text in pages.items()
    }
    assert {name: lines for name, lines in headings.items() if lines} == {}


@pytest.mark.processes
def test_the_site_has_no_broken_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed: uv run --group dev --group docs pytest")
    shutil.copy(CONFIGURATION, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    command = (sys.executable, "-m", "zensical", "build", "--strict")
    result = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    pages = [*(tmp_path / "site").rglob("*.html")]
    assert len(pages) > 60
    loaded = {page.name: LOADED.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: places for name, places in loaded.items() if places} == {}
