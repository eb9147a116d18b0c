"""Findings from counters that a bundle stores in a way that was never compared."""

from dataclasses import replace

import pytest

from tracekit.analysis.analyze import doubted
from tracekit.analysis.rule import Evidence, Finding, Severity

UNSURE = "read by an encoding that was never compared with an export"
LOW = Finding("low-occupancy", Severity.WARNING, "Occupancy was 20 %.", "Do more at once.")
SLOW = Finding(
    "gpu-downclocked",
    Severity.WARNING,
    "Minimum 181 ms.",
    "Cool it.",
    evidence=(Evidence("gpu_performance_states", 0, 1),),
)
BUBBLES = Finding("bubbles", Severity.WARNING, "The GPU waited.", "Do not wait.")


@pytest.mark.parametrize(
    "warning",
    [
        f"x.trace: gpu-counter-value: {UNSURE}: value.",
        f"x.trace: {UNSURE}: kdebug (class, code), metal-gpu-counter-intervals (name, value).",
    ],
)
def test_what_counters_prove_says_so(warning: str) -> None:
    low, bubbles = doubted([LOW, BUBBLES], ["The run was short.", warning])
    assert low.message.startswith("Occupancy was 20 %. The values of the counters were read by ")
    assert "never compared" in low.message
    assert replace(low, message=LOW.message) == LOW
    assert bubbles == BUBBLES


@pytest.mark.parametrize(
    "warnings",
    [
        [],
        [f"x.trace: gpu-counter-info: {UNSURE}: name."],
        [f"x.trace: {UNSURE}: gpu-counter-info (name), kdebug (value)."],
        ["x.trace: gpu-counter-value: of a type that is not known, the numbers as they are stored"],
    ],
)
def test_other_columns_cast_no_doubt(warnings: list[str]) -> None:
    assert doubted([LOW, BUBBLES], warnings) == [LOW, BUBBLES]


def test_what_performance_states_prove_says_so() -> None:
    read = replace(SLOW, evidence=(Evidence("gauges", 0, 1),))
    warning = f"x.trace: {UNSURE}: gpu-performance-state-intervals (gpu-performance-state)."
    found, others = doubted([SLOW], [warning]), [LOW, BUBBLES, read]
    assert found[0].message.startswith("Minimum 181 ms. The names of performance states were read")
    assert doubted(others, [warning]) == others
