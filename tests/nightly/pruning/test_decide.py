"""What counts as a run, what keeps it, and what goes in which order."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from old_runs import NOW, MakeNight, MakeRun, days_ago
from tracekit.nightly.history.night import Accepted
from tracekit.nightly.history.steps import Point, Series, Step
from tracekit.nightly.pruning import (
    Kind,
    Limits,
    Protection,
    Removal,
    RunSeen,
    decide,
    protection,
    roots,
    runs_below,
)

ROOT = Path("/traces")


def run(name: str, age: float, *, stays: str = "", root: Path = ROOT) -> RunSeen:
    folder = root / name
    parts: dict[Kind, tuple[Path, ...]] = {
        "bundle": (folder / "recording.trace",),
        "exports": (folder / "exports" / "a.xml",),
    }
    return RunSeen(folder, root, NOW - timedelta(days=age), parts, stays=stays)


def told(removals: list[Removal], why: str) -> list[str]:
    return [f"{run.folder.name} {kind}" for run, kind, asked in removals if asked == why]


def free(_: RunSeen) -> str:
    return ""


def test_what_is_old_goes_first_bundles_before_exports_oldest_first() -> None:
    runs = [run("b", 50), run("c", 10), run("a", 60), run("d", 56)]
    found, _ = decide(runs, Limits(timedelta(days=55), most=5, newest=0), NOW, free)
    assert told(found, "old") == ["a bundle", "d bundle", "a exports", "d exports"]
    assert told(found, "room") == ["b bundle", "c bundle", "b exports", "c exports"]
    assert [why for _, _, why in found] == ["old"] * 4 + ["room"] * 4
    found, _ = decide([run("a", 30)], Limits(timedelta(days=30), newest=0), NOW, free)
    assert found == [], "a run of just that age is not old"


RUNS = st.lists(
    st.tuples(st.floats(0, 100), st.sampled_from(["", "pinned"]), st.booleans()), max_size=12
).map(
    lambda drawn: [
        run(f"{number}{why}", age, stays="busy" if busy else "")
        for number, (age, why, busy) in enumerate(drawn)
    ]
)


@given(RUNS, st.integers(0, 100), st.integers(0, 5), st.booleans())
def test_whatever_is_asked_for(runs: list[RunSeen], keep: int, newest: int, room: bool) -> None:
    limits = Limits(timedelta(days=keep), 0 if room else None, newest)
    found, kept = decide(
        runs, limits, NOW, lambda each: "pinned" if "pinned" in each.folder.name else ""
    )
    assert not any(run.stays or "pinned" in run.folder.name for run, _, _ in found)
    assert len({(run.folder, kind) for run, kind, _ in found}) == len(found)
    assert not {run.folder for run, _, _ in found} & {*kept}
    order = [(why == "room", kind == "exports", run.begun) for run, kind, why in found]
    assert order == sorted(order)
    assert all(NOW - run.begun > timedelta(days=keep) for run, _, why in found if why == "old")
    youngest = sorted(runs, key=lambda each: (each.begun, each.folder), reverse=True)[:newest]
    assert not {each.folder for each in youngest} & {run.folder for run, _, _ in found}


BEGUN = datetime(2026, 8, 1, tzinfo=UTC)


def of_night(name: str) -> RunSeen:
    folder = Path("/nights") / name
    return RunSeen(folder / "run", Path("/nights"), BEGUN, night=name)


def series(nights: int) -> Series:
    points = tuple(Point(f"n{number}", "", 1.0) for number in range(nights))
    return Series("m", "p", "decode", "w", "step_p50", "ns", "lower", points=points)


@pytest.mark.parametrize(
    ("step", "stay"),
    [
        (Step(5, 1, 2, 1, earliest=5, latest=5), {4, 5, 6}),
        (Step(5, 1, 2, 1, earliest=4, latest=7), {3, 4, 5, 6, 7, 8}),
        (Step(1, 1, 2, 1, earliest=0, latest=1), {0, 1, 2}),
        (Step(9, 1, 2, 1, earliest=9, latest=9), {8, 9}),
    ],
)
def test_nights_around_a_change_stay(step: Step, stay: set[int]) -> None:
    found = protection([(series(10), [step])], [], [])
    staying = {number for number in range(10) if found.reason(of_night(f"n{number}"))}
    assert staying == stay
    assert found.reason(of_night(f"n{step.index}")) == "step_p50 of decode changed there"


def test_what_is_pinned_or_was_accepted_stays_and_says_why(tmp_path: Path) -> None:
    accepted = Accepted("n2", "decode", "w", "2026-08-02", "new kernel")
    found = protection([], [accepted], ["n1", str(tmp_path / "a")])
    assert found.reason(of_night("n1")) == "its night is pinned"
    assert found.reason(of_night("n2")) == "it was accepted as a baseline: new kernel"
    assert found.reason(of_night("n3")) == ""
    for name, why in (("a/b/run", "it is pinned"), ("ab", "")):
        assert found.reason(RunSeen(tmp_path / name, tmp_path, BEGUN)) == why
    unknown = Protection(known=False)
    assert "name the plan with --config" in unknown.reason(of_night("n1"))
    assert unknown.reason(RunSeen(Path("/traces/a"), Path("/traces"), BEGUN)) == ""


def seen(root: Path) -> dict[str, RunSeen]:
    return {each.folder.name: each for each in runs_below(root, NOW)}


def test_bundles_and_exports_are_parts(make_run: MakeRun, tmp_path: Path) -> None:
    for bundle in ("recording.trace", "recording.host", "capture.gputrace"):
        recording = make_run(bundle, bundle=bundle)
        run = seen(tmp_path)[bundle]
        table = recording.exports / "table.xml"  # beside the table of contents, which stays
        assert run.parts == {"bundle": (recording.folder / bundle,), "exports": (table,)}
        assert (run.begun.isoformat(), run.stays, run.night) == (days_ago(100), "", "")


def test_what_keeps_a_run_whole(make_run: MakeRun, make_night: MakeNight, tmp_path: Path) -> None:
    make_run("not-analyzed", analyzed=False)
    for name, text in (("empty", ""), ("odd", "[]"), ("newer", '{"format": 99}')):
        make_run(name).provenance_file.write_text(text)
    linked = make_run("linked")
    linked.provenance_file.rename(tmp_path / "elsewhere.json")
    linked.provenance_file.symlink_to(tmp_path / "elsewhere.json")
    make_run("worked-on", age=0.9, stage="running")
    make_run("of-running", root=make_night("running", 2.9, ended=False))
    for number, text in enumerate(("", "{", '{"id": 3}')):
        night = make_night(f"broken-{number}")
        make_run(f"of-broken-{number}", root=night)
        (night / "night.json").write_text(text)
    make_run("stage", age=1.1, stage="running")  # what was cut off long ago keeps nothing
    make_run("night", root=make_night("cut-off", 3.1, ended=False))
    captured = make_run("captured", bundle="capture.gputrace", analyzed=False, exports=0)
    runs = seen(tmp_path)
    assert runs["captured"].parts == {"bundle": (captured.gputrace,)}, "it is never analyzed"
    found = {name: run.stays for name, run in runs.items() if run.stays}
    unread = "its recording.json cannot be read"
    assert found == {
        "not-analyzed": "it was not analyzed, and its bundle is all there is of it",
        **dict.fromkeys(("empty", "odd", "newer"), unread),
        "linked": "its recording.json is a link",
        "worked-on": "its stage record is running",
        "of-running": "its night has not ended",
        **{f"of-broken-{number}": "its night.json cannot be read" for number in range(3)},
    }


def test_links_are_no_parts_and_lead_nowhere(make_run: MakeRun, tmp_path: Path) -> None:
    """An imported run's bundle is a link to somebody's own."""
    outside, root = tmp_path / "outside", tmp_path / "traces"
    (outside / "precious.trace").mkdir(parents=True)
    first, second = make_run(bundle=""), make_run("second", bundle="")
    first.bundle.symlink_to(outside / "precious.trace")
    (first.exports / "table.xml").rename(outside / "table.xml")
    (first.exports / "table.xml").symlink_to(outside / "table.xml")
    second.exports.rename(outside / "exports")
    second.exports.symlink_to(outside / "exports")
    second.bundle.write_text("notes")
    elsewhere = make_run("elsewhere", root=outside)
    (root / "link-to-a-run").symlink_to(elsewhere.folder)
    (root / "round").symlink_to(root)
    (root / "somebodys" / "recording.trace").mkdir(parents=True)
    assert {name: run.parts for name, run in seen(root).items()} == {"run": {}, "second": {}}


def test_folders_within_others_and_links_to_them_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert roots([tmp_path / "a" / "b", Path("a"), tmp_path / "c"]) == [tmp_path / "a"]
