from pathlib import Path

import pytest

from tracekit.base.files import notes_folder


def test_notes_lie_where_it_is_said_or_where_a_system_has_its_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEKIT_CACHE", "/somewhere")
    assert notes_folder() == Path("/somewhere")
    monkeypatch.delenv("TRACEKIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert notes_folder().name == "tracekit"
    monkeypatch.setenv("HOME", "/Users/ada")
    monkeypatch.setattr("sys.platform", "darwin")
    assert notes_folder() == Path("/Users/ada/Library/Caches/tracekit")
