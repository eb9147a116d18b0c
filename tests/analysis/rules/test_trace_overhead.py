"""`trace-overhead`: what recording itself cost."""

import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Overhead, Provenance

judge = RULES["trace-overhead"].judge


def capture(overhead: Overhead | None) -> Provenance:
    return Provenance(overhead=overhead)


def test_a_costly_recorder_makes_times_void() -> None:
    [finding] = judge(capture(Overhead(0.11, 0.02, 20, 20)))
    assert finding.severity is Severity.WARNING
    assert "11.0 % (± 2.0 %) slower" in finding.message
    assert finding.saving is None


@pytest.mark.parametrize(
    ("ratio", "spread"), [(0.04, 0.01), (0.05, None), (-0.2, 0.01), (0.08, 0.09), (0.08, 0.08)]
)
def test_a_cheap_one_and_one_that_may_cost_nothing_are_passed(
    ratio: float, spread: float | None
) -> None:
    assert not list(judge(capture(Overhead(ratio, spread, 20, 20))))


def test_without_a_spread_the_ratio_counts_alone() -> None:
    [finding] = judge(capture(Overhead(0.08)))
    assert "8.0 % slower" in finding.message
    assert not list(judge(capture(Overhead(0.08)), limit=0.1))


def test_it_abstains_with_the_recorders_reason() -> None:
    with pytest.raises(Unavailable, match=r"was not measured: steps are too few\.$"):
        list(judge(capture(Overhead(reason="Steps are too few."))))
    with pytest.raises(Unavailable, match=r"was not measured\.$"):
        list(judge(capture(None)))
