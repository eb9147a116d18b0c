"""What slowed a side down from outside."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from tracekit.analysis.rule import Finding, Severity
from tracekit.compare.compare import compare
from tracekit.compare.differences import CROWDED, Condition, conditions
from tracekit.compare.verdicts import Verdict

Make = Callable[..., Any]
CONTENDED = Finding("gpu-contended", Severity.WARNING, "Another process ran.", "")
OURS = Finding("bubbles", Severity.WARNING, "The GPU was idle.", "")


def crowded(sample: Make, tables: Make, times: list[int], *, others: float) -> Any:
    own = tables(times)
    at = range(0, sum(times), max(1, sum(times) // 20))
    samples = pd.DataFrame({"time": list(at), "cpu": 1.0, "machine": 1.0 + others})
    machine = {"chip": "a chip", "cores": 2}
    return sample(times, "busy", tables=own | {"process_samples": samples}, machine=machine)


def test_what_was_found_of_one_side_only_is_a_condition(sample: Make) -> None:
    quiet, contended = sample([9] * 40, "a"), sample([9] * 40, "b", findings=[CONTENDED])
    found = conditions([quiet], [contended])
    assert found == (Condition("after", "gpu-contended", "gpu-contended was found in b"),)
    assert conditions([contended], [contended]) == ()
    assert conditions([contended], [quiet])[0].side == "before"


def test_a_fault_of_the_work_is_none(sample: Make) -> None:
    assert conditions([sample([9] * 40)], [sample([9] * 40, findings=[OURS])]) == ()


def test_most_runs_of_a_side_must_have_it(sample: Make) -> None:
    quiet, contended = sample([9] * 40), sample([9] * 40, findings=[CONTENDED])
    assert conditions([quiet], [contended, quiet, quiet]) == ()
    assert len(conditions([quiet], [contended, contended, quiet])) == 1


def test_a_full_machine_spoils_times_of_either_direction(
    sample: Make, tables: Make, noisy: Make
) -> None:
    quick, slow = noisy(1_000_000), noisy(1_300_000, seed=2)
    full = crowded(sample, tables, slow, others=0.9)
    (found,) = conditions([sample(quick)], [full])
    assert found.what == CROWDED
    assert found.words == "other processes used 0.9 of 2 cores in busy"
    assert found.spoils
    assert compare([sample(quick)], [full]).verdict is Verdict.UNCLEAR
    assert compare([full], [sample(quick)]).verdict is Verdict.UNCLEAR
    assert len(conditions([full], [full])) == 2


def test_a_run_without_samples_in_its_window_shows_no_crowd(sample: Make, tables: Make) -> None:
    late = pd.DataFrame({"time": [10**12], "cpu": [1.0], "machine": [2.0]}).convert_dtypes()
    own = tables([9] * 40) | {"process_samples": late}
    one = sample([9] * 40, "short", tables=own, machine={"chip": "a chip", "cores": 2})
    assert conditions([one], [one]) == ()


def test_room_that_is_left_spoils_nothing(sample: Make, tables: Make, noisy: Make) -> None:
    times = noisy(1_000_000)
    assert conditions([sample(times)], [crowded(sample, tables, times, others=0.5)]) == ()
    alone = crowded(sample, tables, times, others=0.1)
    assert conditions([alone], [alone]) == ()
