"""`frequent-readback`: several waits for the device in an iteration."""

import pandas as pd
import pytest

from analysed import handed_over, intervals, judged, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

US = 1_000


# Command buffers of 1 ms: 100 µs of encoding, 50 µs of launch, 800 µs of work; 10 to wake.
TURNS = handed_over(
    [(at, at + 100, at + 150, at + 950, at + 960) for at in range(0, 40_000, 1_000)]
)


def test_idle_time_after_waits_inside_steps_is_the_saving() -> None:
    [finding] = judged("frequent-readback", **TURNS, steps=row_of_steps([4_000 * US] * 10))
    assert finding.severity is Severity.WARNING
    assert "waits for the device 3.9 times in a steady step" in finding.message
    # Of 39 waits 9 lie between two steps.
    assert finding.saving == (39 - 9) * 200 * US
    assert finding.within == "bubbles"
    assert finding.evidence[0].end - finding.evidence[0].start == 200 * US


AHEAD = handed_over(
    [(at, at + 100, at + 950, at + 1_900, at + 1_910) for at in range(0, 40_000, 1_000)]
)


@pytest.mark.parametrize(
    ("tables", "limits", "step"),
    [
        (TURNS, {}, 1_000),  # one wait in a step
        (TURNS, {"limit": 0.15}, 4_000),  # waits inside of steps cost as much
        (TURNS, {"most": 3.9}, 4_000),
        (AHEAD, {}, 4_000),  # several command buffers without a wait
    ],
)
def test_waits_that_are_few_or_cost_little_are_silent(
    tables: dict[str, pd.DataFrame], limits: dict[str, float], step: int
) -> None:
    steps = row_of_steps([step * US] * (40_000 // step))
    assert not judged("frequent-readback", limits, **tables, steps=steps)


def test_the_workload_may_tell_of_its_readbacks() -> None:
    frame = intervals([(at * US, 500 * US) for at in range(0, 40_000, 1_000)], clock="host")
    spans = pd.DataFrame(
        {
            "start": [at * US + 500 * US for at in range(0, 40_000, 1_000)],
            "duration": 500 * US,
            "name": "readback",
        }
    )
    steps = row_of_steps([4_000 * US] * 10)
    [finding] = judged("frequent-readback", gpu_intervals=frame, steps=steps, spans=spans)
    assert "4 times in a steady step" in finding.message
    assert finding.saving == 30 * 500 * US
    each = row_of_steps([1_000 * US] * 40)
    assert not judged("frequent-readback", gpu_intervals=frame, steps=each, spans=spans)


def test_a_loop_without_marks_is_found_by_its_structure() -> None:
    """Two waits in each iteration: after a short piece of work, and after a long one."""
    rows = list[tuple[int, ...]]()
    for at in range(0, 40_000, 2_000):
        rows += [
            (at, at + 100, at + 150, at + 450, at + 460),
            (at + 600, at + 700, at + 750, at + 1_700, at + 1_710),
        ]
    [finding] = judged("frequent-readback", **handed_over(rows))
    assert "waits for the device 2 times in a steady iteration" in finding.message
    assert finding.saving == 20 * 300 * US


def test_it_abstains_where_nobody_reports() -> None:
    frame = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="has no spans `readback`"):
        judged("frequent-readback", gpu_intervals=frame, steps=row_of_steps([10]))
    first = {name: rows.iloc[:5] for name, rows in TURNS.items()}
    with pytest.raises(Unavailable, match="no repeating structure was found"):
        judged("frequent-readback", **first)
