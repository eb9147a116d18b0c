"""Work matched by label."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.compare.differences import Kernel, kernel_changes

Make = Callable[..., Any]


def run(sample: Make, rows: list[tuple[str, int | None, bool]]) -> Any:
    frame = pd.DataFrame(
        {
            "start": range(len(rows)),
            "duration": pd.array([one[1] for one in rows], dtype="Int64"),
            "label": [one[0] for one in rows],
            "target": [one[2] for one in rows],
        }
    )
    return sample([1000] * 40, tables={"gpu_intervals": frame})


def test_equal_labels_are_equal_work_whatever_process_and_number(sample: Make) -> None:
    before = run(
        sample, [("paged      ( python3 (4711) )  0xf1", one, True) for one in (10, 20, 30)]
    )
    after = run(sample, [("paged      ( python3 (815) )  0xa2", one, True) for one in (20, 40, 60)])
    (change,) = kernel_changes([before], [after])
    assert change.label == "paged"
    assert change.before == Kernel(3, 60, 20, 29)
    assert change.after == Kernel(3, 120, 40, 58)
    assert change.ratio == 2


def test_new_and_gone_labels_have_one_side_only(sample: Make) -> None:
    before, after = run(sample, [("old", 10, True)]), run(sample, [("new", 30, True)])
    new, old = kernel_changes([before], [after])
    assert (new.label, new.before, new.ratio) == ("new", None, None)
    assert (old.label, old.after, old.ratio) == ("old", None, None)


def test_what_moved_most_time_comes_first(sample: Make) -> None:
    before = run(sample, [("a", 10, True), ("b", 100, True), ("c", 50, True)])
    after = run(sample, [("a", 70, True), ("b", 100, True), ("c", 20, True)])
    assert [one.label for one in kernel_changes([before], [after])] == ["a", "c", "b"]


def test_others_and_rows_without_a_duration_do_not_count(sample: Make) -> None:
    one = run(sample, [("a", 10, True), ("a", None, True), ("window", 99, False)])
    (change,) = kernel_changes([one], [one])
    assert change.before == Kernel(1, 10, 10, 10)


def test_several_runs_give_the_median_of_each(sample: Make) -> None:
    runs = [run(sample, [("a", one, True)]) for one in (10, 30, 20)]
    (change,) = kernel_changes(runs, runs[:1])
    assert change.before is not None
    assert change.before.p50 == 20
    assert change.ratio == pytest.approx(0.5)


def test_runs_without_tables_have_no_work(sample: Make) -> None:
    gone = replace(sample([1000] * 40), tables=None)
    assert kernel_changes([gone], [gone]) == ()
