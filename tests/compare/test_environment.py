"""What the runs were made on and with."""

from collections.abc import Callable
from typing import Any

import pytest

from tracekit.base.recording import Process, Provenance
from tracekit.compare.compare import compare
from tracekit.compare.differences import Difference, Weight, differences

Make = Callable[..., Any]
TIMES = [1000] * 40


def test_equal_runs_differ_in_nothing(sample: Make) -> None:
    assert differences([sample(TIMES)], [sample(TIMES)]) == ()


def test_other_work_and_another_recorder_make_a_comparison_void(sample: Make) -> None:
    other = sample(TIMES, workload="paged", recorder="xctrace", recorder_version="26.0")
    found = differences([sample(TIMES)], [other])
    assert [one.what for one in found if one.weight is Weight.VOID] == ["workload", "recorder"]
    assert found[0] == Difference("workload", "burn", "paged", Weight.VOID)
    compared = compare([sample(TIMES)], [other])
    assert [one.what for one in compared.void] == ["workload", "recorder"]


def test_exports_of_others_are_traces_as_well(sample: Make) -> None:
    ours, theirs = (sample(TIMES, recorder=one) for one in ("xctrace", "import"))
    assert all(one.weight is Weight.MARKED for one in differences([ours], [theirs]))


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("chip", {"machine": {"chip": "Apple M4", "cores": 8, "os": "macOS 26.0", "mlx": "0.32"}}),
        ("templates", {"templates": ("Metal System Trace",)}),
        ("time limit", {"time_limit": 5.0}),
        ("warm-up steps", {"warmup": 3}),
        ("git commit", {"git_commit": "abc-dirty"}),
        ("tracekit", {"tracekit": "0.2.0"}),
        ("parameter batch", {"parameters": {"batch": 16}}),
    ],
)
def test_what_else_differs_is_marked(sample: Make, what: str, change: dict[str, Any]) -> None:
    (found,) = differences([sample(TIMES)], [sample(TIMES, **change)])
    assert found.what == what
    assert found.weight is Weight.MARKED


def test_what_only_one_run_tells_is_not_stated_by_the_other(sample: Make) -> None:
    (found,) = differences([sample(TIMES)], [sample(TIMES, parameters={"batch": 16})])
    assert (found.before, found.after) == ("not stated", "16")


def test_runs_of_one_side_may_differ_too(sample: Make) -> None:
    sides = [sample(TIMES, parameters={"batch": one}) for one in (8, 16)]
    (found,) = differences(sides, [sides[0]])
    assert (found.before, found.after) == ("8, 16", "8")


def test_a_recorded_program_is_told_apart_by_its_command(sample: Make) -> None:
    def provenance(**parts: Any) -> Any:
        run = sample(TIMES)
        return type(run)(run.name, type(run.result)(Provenance(recorder="host", **parts)))

    one, other = provenance(command=("llama-bench",)), provenance(command=("mlx_lm",))
    assert differences([one], [other])[0].weight is Weight.VOID
    traced = [provenance(targets=(Process(pid, "probe"),)) for pid in (41, 42)]
    assert differences([traced[0]], [traced[1]]) == (), "a process has a number of its own"
    assert differences([traced[0]], [one])[0].weight is Weight.MARKED, "one does not tell its work"


def test_exports_of_others_do_not_tell_what_was_at_work(sample: Make) -> None:
    first, second = (sample(TIMES, recorder="import", workload=name) for name in ("a", "b"))
    assert differences([first], [second]) == (), "an import is named after its folder"
    (found,) = differences([first], [sample(TIMES, recorder="xctrace", workload="paged")])
    assert (found.what, found.before, found.weight) == ("workload", "not stated", Weight.MARKED)
