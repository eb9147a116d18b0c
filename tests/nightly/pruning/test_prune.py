"""Room made on the disk: what goes, what stays, and that an interruption costs nothing."""

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from old_runs import NOW, MakeNight, MakeRun
from tracekit.base.recording import Recording
from tracekit.nightly.pruning import Limits, Protection, Pruned, prune, trash
from tracekit.pipeline import analyze, report, tables_of
from tracekit.tables.exports import PRUNED_NOTE

OLD = Limits(timedelta(days=30), newest=0)
ALL = Limits(most=0, newest=0)


def files(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir()}


def why(done: Pruned) -> dict[str, str]:
    return {each.path.name: each.why for each in done.kept}


def test_an_old_bundle_goes_and_the_run_says_so(make_run: MakeRun, tmp_path: Path) -> None:
    recording = make_run(size=5000, exports=0)
    young = make_run("young", age=10)
    own = {"report.html", "workload.jsonl", "mine.txt", "recording.json", "result.json"}
    for name in own - files(recording.folder):
        (recording.folder / name).write_text("x")
    before = files(tmp_path)
    dry = prune([tmp_path / "traces"], OLD, now=NOW, dry=True)
    assert files(tmp_path) == before
    assert [(gone.what, gone.freed, dry.freed) for gone in dry.removed] == [("bundle", 5000, 5000)]
    done = prune([tmp_path / "traces"], OLD, now=NOW)
    assert not recording.bundle.exists()
    assert young.bundle.exists()
    [removed] = done.removed
    assert (removed.run, removed.what, removed.why) == (recording.folder, "bundle", "old")
    assert 4000 < removed.freed <= 5000, "less the note of it"
    assert done.freed == removed.freed == done.before - done.after
    assert recording.provenance().pruned.startswith("recording.trace on 2")
    assert recording.provenance().unfinished == {}
    assert files(recording.folder) == own


def test_what_an_interruption_left_is_finished_even_where_nothing_is_old_but_never_a_link(
    make_run: MakeRun, tmp_path: Path
) -> None:
    recording, linked = make_run(age=1, exports=0), make_run("linked", age=1, bundle="")
    recording.bundle.rename(trash(recording.bundle))
    (tmp_path / "outside" / "precious").mkdir(parents=True)
    trash(linked.bundle).symlink_to(tmp_path / "outside")
    done = prune([tmp_path / "traces"], OLD, now=NOW)
    assert files(recording.folder) == {"recording.json", "result.json"}
    assert recording.provenance().pruned.startswith("recording.trace on")
    assert done.freed > 0
    assert (trash(linked.bundle) / "precious").is_dir()
    assert linked.provenance().pruned == ""


@pytest.mark.parametrize(("spare", "gone"), [(0, ["a"]), (-1, ["a", "b"])])
def test_for_room_no_more_goes_than_must(
    spare: int, gone: list[str], make_run: MakeRun, tmp_path: Path
) -> None:
    for name, age in (("a", 90), ("b", 80), ("c", 70)):
        make_run(name, age, size=100_000, exports=0)
    root = tmp_path / "traces"
    all_there_is = prune([root], Limits(most=10**9, newest=0), now=NOW)
    assert (all_there_is.removed, all_there_is.freed) == ([], 0)
    most = all_there_is.before - 100_000 + spare
    done = prune([root], Limits(most=most, newest=0), now=NOW, dry=True)
    assert [(each.run.name, each.why) for each in done.removed] == [(name, "room") for name in gone]
    assert done.missing == 0


def test_a_pruned_run_is_still_analyzed_reported_and_read(real_run: Recording) -> None:
    before = dict(tables_of(real_run).items())
    measured = analyze(real_run).metrics
    done = prune([real_run.folder], ALL)
    assert [each.what for each in done.removed] == ["bundle", "exports"]
    assert done.stayed == []
    assert files(real_run.exports) == {"toc.xml", PRUNED_NOTE}
    tables = tables_of(real_run)
    assert [*tables] == [*before]
    for name, frame in before.items():
        pd.testing.assert_frame_equal(tables[name], frame)
    again = analyze(real_run)
    assert [(each.name, each.value) for each in again.metrics] == [
        (each.name, each.value) for each in measured
    ]
    assert report(real_run).exists()
    told = real_run.provenance_file.read_bytes()
    assert "recording.trace on" in real_run.provenance().pruned
    assert "; exports on" in real_run.provenance().pruned
    assert prune([real_run.folder], ALL).removed == [], "it was pruned before"
    assert real_run.provenance_file.read_bytes() == told


def test_exports_that_cannot_be_kept_stay(real_run: Recording) -> None:
    """A damaged export may be read better by a later reader; what is no export is not ours."""
    whole = (real_run.exports / "metal-gpu-intervals.xml").read_text()
    cut = whole[: len(whole) * 2 // 3].replace("metal-gpu-intervals", "metal-gpu-cut")
    (real_run.exports / "cut.xml").write_text(cut)
    (real_run.exports / "notes.xml").write_text("<notes/>")
    (real_run.exports / "link.xml").symlink_to(real_run.exports / "cut.xml")
    done = prune([real_run.folder], ALL)
    assert {"cut.xml", "notes.xml", "link.xml"} <= files(real_run.exports)
    assert "metal-gpu-intervals.xml" not in files(real_run.exports)
    stayed = {each.path.name: each.why for each in done.stayed}
    assert stayed["notes.xml"] == "it is no export"
    assert set(stayed) >= {"cut.xml", "notes.xml"}


def test_what_is_protected_busy_or_new_stays(
    make_run: MakeRun, make_night: MakeNight, tmp_path: Path
) -> None:
    root = tmp_path / "traces"
    for name in ("pinned", "old", "newest"):
        make_run(name, {"pinned": 90, "old": 80, "newest": 70}[name])
    make_run("busy", 0.5, stage="running")
    make_run("of-baseline", root=make_night("accepted"))
    make_run("of-running", root=make_night("running", 0.5, ended=False))
    make_run("of-over", 85, root=(over := make_night("over", 85)))
    beside = [over / "night.json", over / "somebodys.xml", over / "gauges.jsonl"]
    for file in beside[1:]:
        file.write_text("<of><somebody/></of>")
    protection = Protection({"accepted": "accepted: fine"}, {root / "pinned": "it is pinned"})
    done = prune([tmp_path], Limits(most=0, newest=2), protection, now=NOW)
    removed = [(each.run.name, each.what) for each in done.removed]
    assert removed == [("of-over", "bundle"), ("old", "bundle")]
    assert all(file.exists() for file in beside), "of a night, only its runs are pruned"
    assert why(done) == {
        "pinned": "it is pinned",
        "newest": "it is one of the newest",
        "busy": "its stage record is running",
        "of-baseline": "accepted: fine",
        "of-running": "its night has not ended",
    }


def test_exports_that_were_noted_and_not_removed_yet_are_read_and_removed(
    real_run: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def interrupted(self: Path, missing_ok: bool = False) -> None:
        if self.suffix == ".xml":
            raise KeyboardInterrupt
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prune([real_run.folder], ALL)
    monkeypatch.undo()
    assert (real_run.exports / "metal-gpu-intervals.xml").exists()
    assert (real_run.exports / PRUNED_NOTE).exists()
    rows = len(tables_of(real_run)["gpu_intervals"])
    done = prune([real_run.folder], ALL)
    assert [each.what for each in done.removed] == ["exports"]
    assert len(tables_of(real_run)["gpu_intervals"]) == rows == 200


KILLED = """
import sys
from datetime import timedelta
from pathlib import Path
from tracekit.nightly.pruning import Limits
from tracekit.nightly.pruning import prune
print("ready", flush=True)
prune([Path(sys.argv[1])], Limits(most=0, newest=0))
print("done", flush=True)
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    "after",
    [0.01, *(pytest.param(each, marks=pytest.mark.campaign) for each in (0.0, 0.004, 0.02, 0.04))],
)
def test_killed_at_any_moment_every_run_is_whole_or_pruned(
    after: float, make_run: MakeRun, tmp_path: Path
) -> None:
    root = tmp_path / "traces"
    recordings = [make_run(f"run-{number}", exports=0) for number in range(12)]
    for recording in recordings:
        for number in range(40):
            (recording.bundle / f"file-{number}").write_bytes(b"x" * 100)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(root)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.kill()
    for recording in recordings:
        recording.provenance()
        if recording.bundle.exists():
            assert len(files(recording.bundle)) == 41, "no bundle is half there"
    prune([root], ALL)
    left = {name.rpartition("/")[2].partition(".unfinished-")[0] for name in files(root)}
    assert left <= {"recording.json", "result.json", ".recording.json"}
    assert all(each.provenance().pruned for each in recordings)
