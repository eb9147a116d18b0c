"""Runs with bundles, exports, tables and results; nights around some of them."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from old_runs import MakeNight, MakeRun, days_ago
from tracekit.base.recording import Recording
from tracekit.pipeline import analyze, import_, report


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Make a run as it lies there, with files of given sizes; nothing in them is real."""

    def make(
        name: str = "run",
        age: float = 100,
        *,
        bundle: str = "recording.trace",
        size: int = 1000,
        exports: int = 300,
        analyzed: bool = True,
        stage: str = "done",
        root: Path | None = None,
    ) -> Recording:
        recording = Recording((root or tmp_path / "traces") / name)
        recording.folder.mkdir(parents=True)
        if bundle:
            (recording.folder / bundle / "corespace").mkdir(parents=True)
            (recording.folder / bundle / "corespace" / "store").write_bytes(b"x" * size)
        if exports:
            recording.exports.mkdir()
            recording.toc_file.write_text("<trace-toc/>")
            (recording.exports / "table.xml").write_bytes(b"y" * exports)
        if analyzed:
            recording.result_file.write_text("{}")
        document = {
            "recorder": "xctrace",
            "started": days_ago(age),
            "stages": {"record": {"state": stage, "at": days_ago(age)}},
        }
        recording.provenance_file.write_text(json.dumps(document))
        return recording

    return make


@pytest.fixture
def make_night(tmp_path: Path) -> MakeNight:
    """Make a night's folder; runs of it go below."""

    def make(name: str, age: float = 100, *, ended: bool = True) -> Path:
        folder = tmp_path / "nights" / name
        folder.mkdir(parents=True)
        document = {
            "id": name,
            "plan": "paged",
            "machine": "m",
            "started": days_ago(age),
            "ended": days_ago(age - 0.1) if ended else "",
        }
        (folder / "night.json").write_text(json.dumps(document))
        return folder

    return make


@pytest.fixture
def real_run(
    tmp_path: Path, toc_xml: Callable[..., str], intervals_xml: Callable[..., str]
) -> Recording:
    """A run that was imported, analyzed and reported, with a bundle beside it."""
    exports = tmp_path / "exports"
    exports.mkdir()
    (exports / "toc.xml").write_text(toc_xml())
    rows = [(1_000_000 * n, 600_000, 4711, "python3") for n in range(200)]
    (exports / "metal-gpu-intervals.xml").write_text(intervals_xml(rows))
    [recording] = import_([exports], tmp_path / "traces" / "real")
    analyze(recording)
    report(recording)
    recording.bundle.mkdir()
    (recording.bundle / "store").write_bytes(os.urandom(50_000))
    return recording


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Let nobody move a file or a folder, as where it belongs to somebody else."""
    rename = Path.rename

    def keep(held: Path) -> None:
        def refusing(self: Path, target: Path) -> Path:
            if self == held:
                raise PermissionError(13, "Permission denied", str(self))
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", refusing)

    return keep
