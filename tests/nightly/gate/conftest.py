"""A plan, its nights on the disk, and the folder that a gate is run in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate_night import NIGHT
from tracekit.base.recording import save
from tracekit.nightly.history.night import Night

PLAN = """[nightly]
name = "attention"
output = "nights"
history = "sqlite:///history.db"
machine = "m1-8gb"

[[nightly.capture]]
name = "decode"
workload = "paged"
fail-on = ["pipeline-churn"]
[nightly.capture.reference]
revision = "main"

[[nightly.capture]]
name = "prefill"
workload = "paged"
[nightly.capture.reference]
revision = "main"
"""
Keep = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a plan, in which the test stands."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "tracekit.toml").write_text(PLAN)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def keep(project: Path) -> Keep:
    """Put a night where the plan puts its nights; return its folder."""

    def put(night: Night = NIGHT, **changes: Any) -> Path:
        night = replace(night, **changes)
        folder = project / "nights" / night.id
        folder.mkdir(parents=True)
        save(folder / "night.json", night)
        return folder

    return put
