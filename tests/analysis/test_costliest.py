"""The costliest work: names of shaders if there are some, else labels; the most time first."""

import pytest

from analysed import MS, given, intervals, table
from tracekit.analysis.analyze import list_costliest
from tracekit.analysis.costliest import MOST

NAMES = "name start duration"


def test_labels_are_ranked_by_their_time_with_the_mean_of_a_call() -> None:
    work = intervals([(0, 2 * MS), (3 * MS, 4 * MS), (8 * MS, 3 * MS)], [(0, 50 * MS)])
    work["label"] = ["gemm", "norm", "gemm", "frame"]
    first, second = list_costliest(given(gpu_intervals=work))
    assert (first.name, first.calls, first.mean, first.total) == ("gemm", 2, 2.5 * MS, 5 * MS)
    assert first.share == pytest.approx(5 / 9)
    assert (second.name, second.calls, second.mean) == ("norm", 1, 4 * MS)
    assert first.is_named


def test_labels_that_name_no_kernel_are_marked_and_shaders_come_first() -> None:
    work = intervals([(0, 2 * MS)])
    work["label"] = ["Command Buffer 0:Compute Command 3"]
    (unnamed,) = list_costliest(given(gpu_intervals=work))
    assert not unnamed.is_named
    shaders = table(NAMES, ("sdpa_vector", 0, 1), ("rms", 1, 3), target=True)
    ranked = list_costliest(given(gpu_intervals=work, shader_runs=shaders))
    assert [shader.name for shader in ranked] == ["rms", "sdpa_vector"]


def test_few_names_are_listed_and_none_without_work() -> None:
    work = intervals([(place * MS, MS) for place in range(9)])
    work["label"] = [f"kernel {name}" for name in "abcdefghi"]
    assert len(list_costliest(given(gpu_intervals=work))) == MOST
    assert list_costliest(given()) == ()
