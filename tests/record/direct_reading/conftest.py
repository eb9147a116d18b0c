"""A recording of the fake's whose bundle is of the real layout; made once, copied for each test."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from real_state import STATE
from tracekit.base.recording import Recording

_TESTS = Path(__file__).parents[2]
# Folders from which the fake takes what it writes bundles with.
_PACKAGES = [
    str(_TESTS / "harness"),
    *(path for path in sys.path if path.endswith("site-packages")),
]
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


@pytest.fixture(scope="session")
def packages() -> list[str]:
    return _PACKAGES


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a second of work."""
    folder = tmp_path_factory.mktemp("saved")
    scenario, bundle = folder / "scenario.json", folder / "recording.trace"
    scenario.write_text(json.dumps({"packages": _PACKAGES}))
    argv = (sys.executable, "-c", _MAKE, str(_TESTS / "fake_xctrace"), bundle, json.dumps(STATE))
    env = {**os.environ, "FAKE_XCTRACE_SCENARIO": str(scenario)}
    subprocess.run(argv, env=env, check=True)
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
        exporting = "Exporting "
        return sorted(line.removeprefix(exporting) for line in lines if line.startswith(exporting))

    return found
