"""The fake on PATH, with a scenario of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Scenario = Callable[..., None]
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Put the fake on PATH; call it with keys of the scenario to change what it does."""
    file = tmp_path / "scenario.json"
    file.write_text("{}")
    staging = tmp_path / "staging"
    staging.mkdir()
    monkeypatch.setenv("PATH", f"{Path(__file__).parent / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_XCTRACE_SCENARIO", str(file))
    monkeypatch.setenv("FAKE_XCTRACE_PYTHON", sys.executable)
    monkeypatch.setenv("TMPDIR", str(staging))

    def change(**keys: Any) -> None:
        file.write_text(json.dumps(keys))

    return change


@pytest.fixture
def call(scenario: Scenario) -> Call:
    """Run a command line to its end, within 20 seconds."""

    def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=20, check=False
        )

    return run
