"""A repository whose nights are played."""

from pathlib import Path

import pytest

from played_nights import Played


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A repository of nights by a made clock, whose work trees lie in its own folder."""
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "cache"))
    return Played(tmp_path / "repository")
