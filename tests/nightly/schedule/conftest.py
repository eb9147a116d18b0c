"""A home of one's own, a plan in it, and schedulers that behave as their manuals say."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_schedulers import Fakes
from tracekit.nightly.plan.plan import Capture, NightPlan

FAKES = Path(__file__).parent / "fakes"
PLAN = """\
[nightly]
name = "paged"

[[nightly.capture]]
name = "decode"
workload = "paged"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, which is everybody's."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def plan(tmp_path: Path) -> NightPlan:
    folder = tmp_path / "repo"
    folder.mkdir()
    file = folder / "tracekit.toml"
    file.write_text(PLAN)
    return NightPlan(
        name="paged",
        file=file,
        captures=(Capture("decode", "paged"),),
        output=folder / "bench" / "nights",
        history="",
    )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fakes]:
    """Put the named programs, and nothing else, on PATH."""

    def put(*names: str) -> Fakes:
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        for name in names:
            program = folder / name
            program.write_text(f"#!{sys.executable} -IS\n" + (FAKES / f"{name}.py").read_text())
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("FAKE_SCHEDULER", str(folder))
        return Fakes(folder)

    return put


@pytest.fixture
def launchd(home: Path, programs: Callable[..., Fakes]) -> Fakes:
    return programs("launchctl")


@pytest.fixture
def systemd(home: Path, programs: Callable[..., Fakes]) -> Fakes:
    return programs("systemctl", "loginctl")
