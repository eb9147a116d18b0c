"""Findings from counters that a bundle stores in a way that was never compared."""

from dataclasses import replace

import pytest

from tracekit.analysis.analyze import doubted
from tracekit.analysis.rule import Evidence, Finding, Severity

VALUES = frozenset({("gpu-counter-value", "value")})
OF_INTERVALS = frozenset({("kdebug", "code"), ("metal-gpu-counter-intervals", "value")})
NAMES = frozenset({("gpu-performance-state-intervals", "gpu-performance-state")})
LOW = Finding("low-occupancy", Severity.WARNING, "Occupancy was 20 %.", "Do more at once.")
SLOW = Finding(
    "gpu-downclocked",
    Severity.WARNING,
    "Minimum 181 ms.",
    "Cool it.",
    evidence=(Evidence("gpu_performance_states", 0, 1),),
)
BUBBLES = Finding("bubbles", Severity.WARNING, "The GPU waited.", "Do not wait.")


@pytest.mark.parametrize("uncompared", [VALUES, OF_INTERVALS])
def test_what_counters_prove_says_so(uncompared: frozenset[tuple[str, str]]) -> None:
    low = doubted(LOW, uncompared)
    assert low.message.startswith("Occupancy was 20 %. The values of the counters were read by ")
    assert "never compared" in low.message
    assert replace(low, message=LOW.message) == LOW
    assert doubted(BUBBLES, uncompared) == BUBBLES


@pytest.mark.parametrize(
    "uncompared", [frozenset(), frozenset({("gpu-counter-info", "name"), ("kdebug", "value")})]
)
def test_other_columns_cast_no_doubt(uncompared: frozenset[tuple[str, str]]) -> None:
    assert [doubted(one, uncompared) for one in (LOW, BUBBLES)] == [LOW, BUBBLES]


def test_what_performance_states_prove_says_so() -> None:
    read = replace(SLOW, evidence=(Evidence("gauges", 0, 1),))
    found = doubted(SLOW, NAMES)
    assert found.message.startswith("Minimum 181 ms. The names of performance states were read")
    for one in (LOW, BUBBLES, read):
        assert doubted(one, NAMES) == one
