"""Schedulers that are played, and a plan for them."""

import os
from pathlib import Path

import pytest

from fake_schedulers import Fakes
from tracekit.nightly.plan.plan import Capture, NightPlan


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """Schedulers that behave as their manuals say, and a home without anything."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")  # which is as if it were not set
    programs = Fakes(tmp_path / "programs")
    programs.install()
    programs.tell(lingers=True)
    monkeypatch.setenv("PATH", f"{programs.folder}:{os.environ['PATH']}")
    return programs


@pytest.fixture
def plan(tmp_path: Path) -> NightPlan:
    folder = tmp_path / "repo"
    folder.mkdir()
    text = '[nightly]\nname = "paged"\n[[nightly.capture]]\nname = "decode"\nworkload = "paged"\n'
    (folder / "tracekit.toml").write_text(text)
    capture = Capture("decode", "paged")
    return NightPlan("paged", folder / "tracekit.toml", (capture,), folder / "bench/nights", "")
