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


def test_on_a_mac_it_is_where_caches_of_macs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEKIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("HOME", "/Users/ada")
    monkeypatch.setattr("sys.platform", "darwin")
    assert notes_folder() == Path("/Users/ada/Library/Caches/tracekit")
