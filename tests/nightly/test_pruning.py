"""Room on the disk: what counts as a run, what must stay, what goes, and what the command says."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from stored_nights import night_of
from tracekit.base.recording import Recording
from tracekit.base.stages import mark
from tracekit.nightly.history.night import Accepted
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.schema import NIGHTS
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp
from tracekit.nightly.pruning import (
    Kind,
    Protection,
    Pruned,
    PruneLimits,
    Removal,
    RunSeen,
    _note,  # pyright: ignore[reportPrivateUsage]
    decide,
    protection,
    prune,
    roots,
    runs_below,
    trash,
)
from tracekit.pipeline import analyze, report, tables_of
from tracekit.record.opening import opening
from tracekit.tables.pruned import PRUNED_NOTE

NOW = datetime.now(UTC)
OLD = PruneLimits(timedelta(days=30), newest=0)
ALL = PruneLimits(max_bytes=0, newest=0)
Run = Callable[..., Any]


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


def make_run(
    folder: Path,
    age: float = 100,
    *,
    bundle: str = "recording.trace",
    size: int = 1000,
    exports: int = 300,
    analyzed: bool = True,
    stage: str = "done",
) -> Recording:
    """Make a run as it lies there, with files of given sizes; nothing in them is real."""
    recording = Recording(folder)
    folder.mkdir(parents=True)
    if bundle:
        (folder / bundle / "corespace").mkdir(parents=True)
        (folder / bundle / "corespace" / "store").write_bytes(b"x" * size)
    if exports:
        recording.exports.mkdir()
        recording.toc_file.write_text("<trace-toc/>")
        (recording.exports / "table.xml").write_bytes(b"y" * exports)
    if analyzed:
        recording.result_file.write_text("{}")
    stages = {"record": {"state": stage, "at": days_ago(age)}}
    document = {"recorder": "xctrace", "started": days_ago(age), "stages": stages}
    recording.provenance_file.write_text(json.dumps(document))
    return recording


def make_night(folder: Path, age: float, *, has_ended: bool = True) -> Path:
    folder.mkdir(parents=True)
    end = days_ago(age - 0.1) if has_ended else ""
    document = {"id": folder.name, "plan": "paged", "started": days_ago(age), "ended": end}
    (folder / "night.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def real_run(imported: Path) -> Recording:
    recording = Recording(imported)
    analyze(recording)
    recording.bundle.mkdir()
    (recording.bundle / "store").write_bytes(os.urandom(50_000))
    return recording


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


def run_of(name: str, age: float, stays: str = "") -> RunSeen:
    root = Path("/traces")
    parts: dict[Kind, tuple[Path, ...]] = {
        "bundle": (root / name / "recording.trace",),
        "exports": (root / name / "exports" / "a.xml",),
    }
    return RunSeen(root / name, root, NOW - timedelta(days=age), parts, stays=stays)


def names(removals: list[Removal], reason: str) -> list[str]:
    return [
        f"{run.folder.name} {kind}"
        for run, kind, removal_reason in removals
        if removal_reason == reason
    ]


def test_the_oldest_goes_first_and_bundles_before_exports() -> None:
    runs = [run_of("b", 50), run_of("c", 10), run_of("a", 60), run_of("d", 56)]
    removals, _ = decide(
        runs, PruneLimits(timedelta(days=55), max_bytes=5, newest=0), NOW, lambda _: ""
    )
    assert names(removals, "old") == ["a bundle", "d bundle", "a exports", "d exports"]
    assert names(removals, "room") == ["b bundle", "c bundle", "b exports", "c exports"]
    assert [reason for _, _, reason in removals] == ["old"] * 4 + ["room"] * 4
    removals, _ = decide([run_of("a", 30)], OLD, NOW, lambda _: "")
    assert removals == [], "a run of just that age is not old"


RUNS = st.lists(
    st.tuples(st.floats(0, 100), st.sampled_from(["", "pinned"]), st.booleans()), max_size=12
).map(
    lambda drawn: [
        run_of(f"{number}{suffix}", age, "busy" if busy else "")
        for number, (age, suffix, busy) in enumerate(drawn)
    ]
)


@given(RUNS, st.integers(0, 100), st.integers(0, 5), st.booleans())
def test_whatever_is_asked_for(runs: list[RunSeen], keep: int, newest: int, room: bool) -> None:
    limits = PruneLimits(timedelta(days=keep), 0 if room else None, newest)
    removals, kept_folders = decide(
        runs, limits, NOW, lambda run: "pinned" if "pinned" in run.folder.name else ""
    )
    pruned_folders = {run.folder for run, _, _ in removals}
    assert not any(run.stays or "pinned" in run.folder.name for run, _, _ in removals)
    assert len({(run.folder, kind) for run, kind, _ in removals}) == len(removals)
    assert not pruned_folders & {*kept_folders}
    order = [(reason == "room", kind == "exports", run.start) for run, kind, reason in removals]
    assert order == sorted(order)
    assert all(
        NOW - run.start > timedelta(days=keep) for run, _, reason in removals if reason == "old"
    )
    youngest = sorted(runs, key=lambda run: (run.start, run.folder), reverse=True)[:newest]
    assert not {run.folder for run in youngest} & pruned_folders


def of_night(name: str) -> RunSeen:
    return RunSeen(Path("/nights") / name / "run", Path("/nights"), NOW, night=name)


def test_nights_at_a_change_stay() -> None:
    points = tuple(Point(f"n{number}", "", 1.0) for number in range(10))
    series = Series("m", "p", "decode", "w", "step_p50", "ns", "lower", points=points)
    for index, earliest, latest, stay in (
        (5, 5, 5, {4, 5, 6}),
        (5, 4, 7, {3, 4, 5, 6, 7, 8}),
        (1, 0, 1, {0, 1, 2}),
        (9, 9, 9, {8, 9}),
    ):
        step = LevelStep(index, 1, 2, 1, earliest=earliest, latest=latest)
        protected_nights = protection([(series, Changes((step,)))], [], [])
        reasons = {number: protected_nights.reason(of_night(f"n{number}")) for number in range(10)}
        assert {number for number, reason in reasons.items() if reason} == stay
        assert reasons[index] == "step_p50 of decode changed there", earliest


def test_the_ends_of_a_drift_stay_and_say_so() -> None:
    points = tuple(Point(f"n{number}", "", 1.0) for number in range(12))
    series = Series("m", "p", "decode", "w", "step_p50", "ns", "lower", points=points)
    ramp = Ramp(3, 9, 1.0, 1.2, 0.2, 0.03)
    protected_nights = protection([(series, Changes(ramps=(ramp,)))], [], [])
    reasons = {number: protected_nights.reason(of_night(f"n{number}")) for number in range(12)}
    assert {number for number, reason in reasons.items() if reason} == {2, 3, 9, 10}
    assert reasons[3] == "a drift of step_p50 of decode began or ended there"


def test_pinned_and_accepted_runs_stay_with_their_reason(tmp_path: Path) -> None:
    accepted = Accepted("n2", "decode", "w", "2026-08-02", "new kernel")
    protected_runs = protection([], [accepted], ["n1", str(tmp_path / "a")])
    assert [protected_runs.reason(of_night(name)) for name in ("n1", "n2", "n3")] == [
        "its night is pinned",
        "it was accepted as a baseline: new kernel",
        "",
    ]
    for name, reason in (("a/b/run", "it is pinned"), ("ab", "")):
        assert protected_runs.reason(RunSeen(tmp_path / name, tmp_path, NOW)) == reason
    unknown = Protection(is_known=False)
    assert "name the plan with --config" in unknown.reason(of_night("n1"))
    assert unknown.reason(run_of("a", 1)) == ""


def find_runs(root: Path) -> dict[str, RunSeen]:
    return {run.folder.name: run for run in runs_below(root, NOW)}


def test_reasons_to_keep_a_run_whole(tmp_path: Path) -> None:
    make_run(tmp_path / "not-analyzed", analyzed=False)
    undated = '{"stages": {"record": {"state": "running", "at": "lately"}}}'
    broken = {"empty": "", "odd": "[]", "newer": '{"format": 99}', "undated": undated}
    for name, text in broken.items():
        make_run(tmp_path / name).provenance_file.write_text(text)
    linked = make_run(tmp_path / "linked")
    linked.provenance_file.rename(tmp_path / "elsewhere.json")
    linked.provenance_file.symlink_to(tmp_path / "elsewhere.json")
    make_run(tmp_path / "worked-on", age=0.9, stage="running")
    make_run(make_night(tmp_path / "running", 2.9, has_ended=False) / "of-running")
    for number, text in enumerate(("", "{", '{"id": 3}')):
        night = make_night(tmp_path / f"broken-{number}", 100)
        make_run(night / f"of-broken-{number}")
        (night / "night.json").write_text(text)
    # What was cut off long ago keeps nothing.
    make_run(tmp_path / "stage", age=1.1, stage="running")
    make_run(make_night(tmp_path / "cut-off", 3.1, has_ended=False) / "night")
    captured = make_run(tmp_path / "captured", bundle="capture.gputrace", analyzed=False, exports=0)
    runs = find_runs(tmp_path)
    assert runs["captured"].parts == {"bundle": (captured.gputrace,)}, "it is never analyzed"
    unread = "its recording.json cannot be read"
    assert {name: run.stays for name, run in runs.items() if run.stays} == {
        "not-analyzed": "it was not analyzed, and its bundle is all there is of it",
        **dict.fromkeys(("empty", "odd", "newer"), unread),
        "linked": "its recording.json is a link",
        **dict.fromkeys(("worked-on", "undated"), "its stage record is running"),
        "of-running": "its night has not ended",
        **{f"of-broken-{number}": "its night.json cannot be read" for number in range(3)},
    }


def test_bundles_and_exports_are_parts_but_links_are_none_and_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An imported run's bundle is a link to somebody's own."""
    root, outside, parts = tmp_path / "traces", tmp_path / "outside", dict[str, Any]()
    for bundle in ("recording.trace", "recording.host", "capture.gputrace"):
        recording = make_run(root / bundle, bundle=bundle)
        table = recording.exports / "table.xml"  # beside the table of contents, which stays
        parts[bundle] = {"bundle": (recording.folder / bundle,), "exports": (table,)}
    assert {name: run.parts for name, run in find_runs(root).items()} == parts
    facts = {(run.start.isoformat(), run.night) for run in find_runs(root).values()}
    assert facts == {(days_ago(100), "")}
    (outside / "precious.trace").mkdir(parents=True)
    first_run, second = make_run(root / "run", bundle=""), make_run(root / "second", bundle="")
    first_run.bundle.symlink_to(outside / "precious.trace")
    (first_run.exports / "table.xml").rename(outside / "table.xml")
    (first_run.exports / "table.xml").symlink_to(outside / "table.xml")
    second.exports.rename(outside / "exports")
    second.exports.symlink_to(outside / "exports")
    second.bundle.write_text("notes")
    (root / "link-to-a-run").symlink_to(make_run(outside / "elsewhere").folder)
    (root / "round").symlink_to(root)
    (root / "somebodys" / "recording.trace").mkdir(parents=True)
    parts |= {"run": {}, "second": {}}
    assert {name: run.parts for name, run in find_runs(root).items()} == parts
    monkeypatch.chdir(tmp_path)
    assert roots([root / "run", Path("traces"), root / "round"]) == [root], "they count once"


def test_an_old_bundle_goes_and_the_run_says_so(tmp_path: Path) -> None:
    recording = make_run(tmp_path / "run", size=5000, exports=0)
    young = make_run(tmp_path / "young", 10)
    own_files = {"report.html", "workload.jsonl", "mine.txt", "recording.json", "result.json"}
    for name in own_files - files(recording.folder):
        (recording.folder / name).write_text("x")
    initial_files, dry = files(tmp_path), prune([tmp_path], OLD, current_time=NOW, dry=True)
    assert files(tmp_path) == initial_files
    assert [(removal.what, removal.freed, dry.freed_bytes) for removal in dry.removed] == [
        ("bundle", 5000, 5000)
    ]
    done = prune([tmp_path], OLD, current_time=NOW)
    assert (recording.bundle.exists(), young.bundle.exists()) == (False, True)
    [removed] = done.removed
    assert (removed.run, removed.what, removed.why) == (recording.folder, "bundle", "old")
    assert 4000 < removed.freed <= 5000, "less the note of it"
    assert done.freed_bytes == removed.freed == done.before - done.after
    assert recording.provenance().pruning_note.startswith("recording.trace on 2")
    assert (recording.provenance().unfinished_stages, files(recording.folder)) == ({}, own_files)


def test_an_interrupted_removal_is_finished_unless_it_is_a_link(tmp_path: Path) -> None:
    root = tmp_path / "traces"
    recording = make_run(root / "run", age=1, exports=0)
    linked = make_run(root / "linked", age=1, bundle="")
    recording.bundle.rename(trash(recording.bundle))
    mark(recording, "prune", "done", "recording.trace on 2026-01-02")
    (tmp_path / "outside" / "precious").mkdir(parents=True)
    trash(linked.bundle).symlink_to(tmp_path / "outside")
    done = prune([root], OLD, current_time=NOW)
    assert files(recording.folder) == {"recording.json", "result.json"}
    pruned = recording.provenance().pruning_note
    assert pruned.startswith("recording.trace on 2026-01-02; recording.trace on 2")
    _note(recording, "recording.trace")  # twice on one day
    assert recording.provenance().pruning_note == pruned
    assert done.freed_bytes > 0
    assert (trash(linked.bundle) / "precious").is_dir()
    assert linked.provenance().pruning_note == ""


def test_for_room_no_more_goes_than_must(tmp_path: Path) -> None:
    for name, age in (("a", 90), ("b", 80), ("c", 70)):
        make_run(tmp_path / name, age, size=100_000, exports=0)

    def prune_to(size_limit: int) -> Pruned:
        return prune(
            [tmp_path], PruneLimits(max_bytes=size_limit, newest=0), current_time=NOW, dry=True
        )

    everything = prune_to(10**9)
    assert (everything.removed, everything.freed_bytes) == ([], 0)
    for spare, expected_names in ((0, ["a"]), (-1, ["a", "b"])):
        done = prune_to(everything.before - 100_000 + spare)
        assert [(part.run.name, part.why) for part in done.removed] == [
            (name, "room") for name in expected_names
        ], spare
        assert done.missing == 0, spare


def test_a_pruned_run_is_still_analyzed_reported_and_read(
    real_run: Recording, tracekit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    initial_tables = dict(tables_of(real_run).items())
    measured = [(metric.name, metric.value) for metric in analyze(real_run).metrics]
    unlink = Path.unlink

    def interrupt_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.suffix == ".xml":
            raise KeyboardInterrupt
        unlink(self, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", interrupt_unlink)
        with pytest.raises(KeyboardInterrupt):
            prune([real_run.folder], ALL)
    export_files = files(real_run.exports)
    assert export_files == {"toc.xml", "metal-gpu-intervals.xml", PRUNED_NOTE}, (
        "noted, and not removed yet"
    )
    assert len(tables_of(real_run)["gpu_intervals"]) == len(initial_tables["gpu_intervals"]) > 0
    done = prune([real_run.folder], ALL)
    assert ([part.what for part in done.removed], done.stayed) == (["exports"], [])
    assert files(real_run.exports) == {"toc.xml", PRUNED_NOTE}
    tables = tables_of(real_run)
    assert [*tables] == [*initial_tables]
    for name, frame in initial_tables.items():
        pd.testing.assert_frame_equal(tables[name], frame)
    assert [(metric.name, metric.value) for metric in analyze(real_run).metrics] == measured
    assert report(real_run).exists()
    document = real_run.provenance_file.read_bytes()
    assert "recording.trace on" in real_run.provenance().pruning_note
    assert "; exports on" in real_run.provenance().pruning_note
    assert prune([real_run.folder], ALL).removed == [], "it was pruned before"
    assert real_run.provenance_file.read_bytes() == document
    for words, complaint in (
        (("export",), "no bundle to export: it was pruned (recording.trace on 2"),
        (("open", "--trace"), "It was pruned: recording.trace on 2"),
    ):
        refused = tracekit(*words, real_run.folder)
        assert (refused.code, complaint in refused.err) == (3, True), words
    assert opening(real_run, "page").path == real_run.report_file.resolve()


def test_exports_that_cannot_be_kept_stay(real_run: Recording) -> None:
    """A damaged export may be read better by a later reader; what is no export is not ours."""
    whole_export = (real_run.exports / "metal-gpu-intervals.xml").read_text()
    cut_export = whole_export[: len(whole_export) * 4 // 5].replace(
        "metal-gpu-intervals", "metal-gpu-cut"
    )
    (real_run.exports / "cut.xml").write_text(cut_export)
    (real_run.exports / "notes.xml").write_text("<notes/>")
    (real_run.exports / "link.xml").symlink_to(real_run.exports / "cut.xml")
    done = prune([real_run.folder], ALL)
    assert [part.what for part in done.removed] == ["bundle", "exports"]
    assert files(real_run.exports) == {"toc.xml", PRUNED_NOTE, "cut.xml", "notes.xml", "link.xml"}
    stayed = {part.path.name: part.why for part in done.stayed}
    assert stayed["notes.xml"] == "it is not an export"
    assert "cut.xml" in stayed


KILLED = """
import sys
from pathlib import Path
from tracekit.nightly.pruning import PruneLimits, prune
print("ready", flush=True)
prune([Path(sys.argv[1])], PruneLimits(most=0, newest=0))
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    "after",
    [0.01, *(pytest.param(time, marks=pytest.mark.campaign) for time in (0.0, 0.004, 0.02, 0.04))],
)
def test_a_killed_pruning_leaves_whole_runs(after: float, tmp_path: Path) -> None:
    recordings = [make_run(tmp_path / f"run-{number}", exports=0) for number in range(12)]
    for recording in recordings:
        for number in range(40):
            (recording.bundle / f"file-{number}").write_bytes(b"x" * 100)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.kill()
    for recording in recordings:
        recording.provenance()
        if recording.bundle.exists():
            assert len(files(recording.bundle)) == 41, "no bundle is half there"
    prune([tmp_path], ALL)
    remaining_files = {
        name.rpartition("/")[2].partition(".unfinished-")[0] for name in files(tmp_path)
    }
    assert remaining_files <= {"recording.json", "result.json", ".recording.json"}
    assert all(recording.provenance().pruning_note for recording in recordings)


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four nights in a plan's history, each with a run; the second is pinned."""
    monkeypatch.chdir(tmp_path)
    plan = '[nightly]\nname = "nightly"\n[[nightly.capture]]\nworkload = "paged"\n'
    (tmp_path / "tracekit.toml").write_text(plan)
    output = tmp_path / "bench" / "nights"
    with Store.connect(f"sqlite:///{output}/history.db") as store:
        for number in range(1, 5):
            age = 300 - number
            night = night_of(number, (), started=days_ago(age), ended=days_ago(age))
            make_run(make_night(output / night.id, age) / "traced-1", age)
            (output / night.id / "somebodys.xml").write_text("<of><somebody/></of>")
            store.append(night)
        store.pin(night_of(2).id, "to show")
    return output


def bundles(folder: Path) -> list[str]:
    return sorted(bundle.parents[1].name[:10] for bundle in folder.rglob("recording.trace"))


def test_runs_pinned_in_the_history_stay(nights: Path, tracekit: Run, tmp_path: Path) -> None:
    (tmp_path / "tracekit.toml").rename(tmp_path / "kept.toml")
    result = tracekit("runs", "prune", nights, "--keep", "30d", "--newest", "0")
    assert (result.code, len(bundles(nights))) == (0, 4)
    assert "name the plan with --config" in result.out
    result = tracekit(
        "runs", "prune", "--keep", "30d", "--newest", "1", "--config", tmp_path / "kept.toml"
    )
    assert result.code == 0, result.err
    assert bundles(nights) == ["2026-03-02", "2026-03-04"]
    assert "1\tits night is pinned" in result.out
    assert "1\tit is one of the newest" in result.out
    assert str(nights.parent) not in result.out, "paths are as one would type them here"
    assert "freed;" in result.out
    assert (nights / "history.db").exists()
    assert len([*nights.glob("*/somebodys.xml")]) == 4, "of a night, only its runs are pruned"


def test_looking_and_refusing_remove_nothing(nights: Path, tracekit: Run) -> None:
    result = tracekit("runs", "prune", "--max-size", "1", "--newest", "0", "--dry-run", "--json")
    document = json.loads(result.out)
    assert (document["dry"], len(document["kept"])) == (True, 1)
    assert {part["what"] for part in document["removed"]} == {"bundle", "exports"}
    assert document["freed"] == document["before"] - document["after"] > 0
    assert document["missing"] > 0
    with Store.connect(str(nights / "history.db")) as store, store.database.writing() as connection:
        newer = {"id": "newer", "plan": "p", "machine": "m", "started": days_ago(1)}
        row = newer | {"document": json.dumps(newer | {"format": 99})}
        connection.execute(insert(NIGHTS).values(row))
    for words, code, complaint in (
        ("--max-size 10B --dry-run", 0, "more than --max-size"),
        ("--keep 30d --dry-run", 0, ""),
        ("", 2, "Specify what to keep"),
        ("--keep soon", 2, "Invalid age"),
        ("--max-size big", 2, "Invalid size"),
        ("nowhere --keep 1d", 3, "nowhere is not a folder"),
        ("--newest -1 --keep 1d", 2, "--newest"),
    ):
        result = tracekit("runs", "prune", *words.split())
        assert (result.code, complaint in result.err) == (code, True), words
    (nights / "history.db").write_text("no database at all, and long enough to be one" * 100)
    result = tracekit("runs", "prune", "--keep", "30d")
    assert (result.code, "history.db" in result.err) == (3, True)
    assert len(bundles(nights)) == 4


def test_one_failure_is_exit_code_3(tracekit: Run, tmp_path: Path) -> None:
    stuck, other_run = (make_run(tmp_path / name, 300, exports=0) for name in ("stuck", "other"))
    trash(stuck.bundle).write_text("a file where the bundle is to go")
    result = tracekit("runs", "prune", tmp_path, "--keep", "30d", "--newest", "0")
    assert (result.code, "1 could not be pruned" in result.err) == (3, True)
    assert (stuck.bundle.exists(), other_run.bundle.exists()) == (True, False)
