"""The workloads whose runs are compared, to count how often a comparison errs."""

from pathlib import Path

from tracekit.workload.workload import Step, load

BURNING = Path(__file__).parents[2] / "bench" / "burning"


def made(name: str, slow: float) -> Step:
    return load(BURNING / f"{name}.py").make({"slow": slow})


def test_slowed_work_is_more_by_the_share_that_is_asked_for() -> None:
    assert (made("burn", 0.0).submit(), made("burn", 0.1).submit()) == (40_000, 44_000)
    assert [len(made("attend", slow).submit()) for slow in (0.0, 0.1)] == [20, 22]


def test_no_workload_tells_a_reference_of_its_own() -> None:
    assert [made(name, 0.0).tell for name in ("burn", "attend")] == [None, None]
