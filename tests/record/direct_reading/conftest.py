"""A recording of the fake's whose bundle is of the real layout; made once, copied for each test."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.recording import Recording

_HARNESS = Path(__file__).parents[2] / "harness"
_FAKE = Path(__file__).parents[2] / "fake_xctrace"
PACKAGES = [str(_HARNESS), *(one for one in sys.path if one.endswith("site-packages"))]
_MAKE = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import real_bundle
from scenario import Scenario
bundle = Path(sys.argv[2])
bundle.mkdir()
real_bundle.write(bundle, json.loads(sys.argv[3]), Scenario())
"""
STATE = {
    "template": "Metal System Trace",
    "instruments": [],
    "limit": 10,
    "started": "2026-11-20T10:15:03.000+00:00",
    "ended": "2026-11-20T10:15:04.000+00:00",
    "duration": 1.0,
    "reason": "Target app exited",
    "version": "26.0 (17C529)",
    "target": {"type": "attached", "pid": 4711, "name": "python3"},
    "counter_set": "(null)",
    "counter_rows": False,
}


@pytest.fixture(scope="session")
def packages() -> list[str]:
    """Folders from which the fake takes what it writes bundles with."""
    return PACKAGES


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a second of work."""
    folder = tmp_path_factory.mktemp("saved")
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps({"packages": PACKAGES}))
    bundle = folder / "recording.trace"
    subprocess.run(
        [sys.executable, "-c", _MAKE, str(_FAKE), str(bundle), json.dumps(STATE)],
        env={**os.environ, "FAKE_XCTRACE_SCENARIO": str(scenario)},
        check=True,
    )
    return bundle


@pytest.fixture
def recorded(saved: Path, tmp_path: Path) -> Callable[..., Recording]:
    """Make a run's folder with the bundle, of another build if one is given."""

    def make(name: str = "run", build: str = "17C529") -> Recording:
        recording = Recording(tmp_path / name)
        shutil.copytree(saved, recording.bundle)
        state = {**STATE, "version": f"26.0 ({build})"}
        (recording.bundle / "state.json").write_text(json.dumps(state))
        return recording

    return make


@pytest.fixture
def exported() -> Callable[[], list[str]]:
    """Return what the fake was asked to export since the last time, table by table."""

    def found() -> list[str]:
        said = Path(os.environ["FAKE_XCTRACE_SCENARIO"]).with_suffix(".said")
        lines = said.read_text().splitlines() if said.exists() else []
        said.write_text("")
        return sorted(
            one.removeprefix("Exporting ") for one in lines if one.startswith("Exporting ")
        )

    return found
