"""What goes and in which order; literal runs, and laws for all of them."""

from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from old_runs import NOW
from tracekit.nightly.pruning import Kind, Limits, Removal, RunSeen, decide

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


def test_the_newest_of_each_folder_stay() -> None:
    other = Path("/nights")
    runs = [run("a", 90), run("b", 80), run("c", 70), run("d", 99, root=other)]
    found, kept = decide(runs, Limits(timedelta(days=1), newest=1), NOW, free)
    assert told(found, "old") == ["a bundle", "b bundle", "a exports", "b exports"]
    assert kept == {
        ROOT / "c": "it is one of the newest",
        other / "d": "it is one of the newest",
    }


def test_a_run_of_just_that_age_is_not_old() -> None:
    found, _ = decide([run("a", 30)], Limits(timedelta(days=30), newest=0), NOW, free)
    assert found == []


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
        runs, limits, NOW, lambda one: "pinned" if "pinned" in one.folder.name else ""
    )
    assert not any(run.stays or "pinned" in run.folder.name for run, _, _ in found)
    assert len({(run.folder, kind) for run, kind, _ in found}) == len(found)
    assert not {run.folder for run, _, _ in found} & {*kept}
    order = [(why == "room", kind == "exports", run.begun) for run, kind, why in found]
    assert order == sorted(order)
    assert all(NOW - run.begun > timedelta(days=keep) for run, _, why in found if why == "old")
    youngest = sorted(runs, key=lambda one: (one.begun, one.folder), reverse=True)[:newest]
    assert not {one.folder for one in youngest} & {run.folder for run, _, _ in found}
