from pathlib import Path

import pytest

from tracekit.base.files import notes_folder


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_CACHE", "/somewhere")
    assert notes_folder() == Path("/somewhere")


def test_without_a_name_it_is_one_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEKIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert notes_folder().name == "tracekit"
