"""`frequent-command-buffers`, `tiny-encoders`, `late-start`, `host-bound`, `shallow-queue`.

They are filters of the idle time: each has the gaps that came about in one way. Times are in µs.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from analysed import handed_over, intervals, judged, phases, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity

Make = Callable[..., pd.DataFrame]
US = 1_000
BUFFERS, ENCODERS, LATE = "frequent-command-buffers", "tiny-encoders", "late-start"
HOST, QUEUE = "host-bound", "shallow-queue"


def row(
    work: int, gap: int, per_buffer: int = 1, number: int = 200, ahead: int = 5_000
) -> pd.DataFrame:
    """Make pieces of `work`, `gap` apart, committed `ahead` before they start."""
    rows = [(at * (work + gap) * US, work * US) for at in range(number)]
    frame = intervals(rows, latencies=[ahead * US] * number)
    numbers = [at // per_buffer for at in range(number)]
    return frame.assign(command_buffer=pd.array(numbers, dtype="UInt64"))


def turns(host: int, device: int) -> list[tuple[int, ...]]:
    """Make 20 command buffers, each begun 20 µs after the last is complete."""
    rows, at = list[tuple[int, ...]](), 0
    for _ in range(20):
        commit, end = at + host, at + host + 50 + device
        rows.append((at, commit, commit + 50, end, end + 10))
        at = end + 30
    return rows


def late(busy: int = 400) -> list[tuple[int, ...]]:
    """Make 40 command buffers that take 1 ms to encode, each begun at the last one's commit."""
    return [
        (at, at + 1_000, at + 1_050, at + 1_050 + busy, at + 1_060 + busy)
        for at in range(0, 40_000, 1_000)
    ]


AHEAD = [(at, at + 200, at + 900, at + 1_850, at + 2_000) for at in range(0, 20_000, 1_000)]
NEVER_WAITS = [
    (at, at + 1_000, at + 1_010, at + 1_410, at + 1_420) for at in range(0, 20_000, 1_000)
]
WAITS = [(at + 60, at + 70, at + 80, at + 130, at + 140) for at in range(0, 20_000, 100)]


def test_boundaries_between_committed_buffers_are_found() -> None:
    steps = row_of_steps([1_200 * US] * 10)
    [finding] = judged(BUFFERS, gpu_intervals=row(40, 20), steps=steps)
    assert finding.severity is Severity.WARNING
    assert "200 command buffers" in finding.message
    assert "20 per step and 20 per token" in finding.message
    assert "At 199 boundaries between them the device was idle for 20 µs" in finding.message
    assert "MLX_MAX_OPS_PER_BUFFER and MLX_MAX_MB_PER_BUFFER" in finding.advice
    assert (finding.saving, finding.within) == (199 * 20 * US, "bubbles")
    assert finding.evidence[0].end - finding.evidence[0].start == 20 * US


def test_boundaries_between_encoders_are_found() -> None:
    frame, steps = row(20, 4, per_buffer=20), row_of_steps([480 * US] * 10)
    [finding] = judged(ENCODERS, gpu_intervals=frame, steps=steps)
    assert "200 pieces, 20 per step and 20 per token, 20 µs each" in finding.message
    assert "At 190 boundaries between encoders" in finding.message
    assert "idle for 4 µs (median), 760 µs in all" in finding.message
    assert (finding.saving, finding.within) == (190 * 4 * US, "bubbles")
    assert "one encoder" in finding.advice
    assert not judged(ENCODERS, {"limit": 0.2}, gpu_intervals=frame)


def test_idle_time_of_committed_work_is_a_late_start() -> None:
    [finding] = judged(LATE, gpu_intervals=row(600, 400, number=11, ahead=1_000))
    assert (finding.saving, finding.within) == (10 * 400 * US, "bubbles")
    assert "10 starts waited longer than 100 µs, half of them 400 µs or longer" in finding.message
    assert "37.7 % of the time from the target's first" in finding.message
    assert finding.evidence[0] == Evidence("gpu_intervals", 600 * US, 1_000 * US)
    assert "event of another stream" in finding.advice


@pytest.mark.parametrize(
    ("rule", "pieces", "found"),
    [
        (BUFFERS, (500, 60), True),  # a boundary costs what it costs
        (BUFFERS, (1_500, 260), True),
        (BUFFERS, (500, 10), False),  # short gaps
        (BUFFERS, (40, 20, 200), False),  # one buffer
        (BUFFERS, (40, 20, 1, 8), False),  # seven boundaries
        (BUFFERS, (40, 20, 1, 9), True),
        (BUFFERS, (900, 301), False),  # late starts
        (BUFFERS, (40, 20, 1, 200, 19), False),  # committed after the gap began
        (BUFFERS, (40, 20, 1, 200, 20), True),
        (ENCODERS, (500, 60, 20), True),
        (ENCODERS, (20, 1, 20), False),
        (ENCODERS, (20, 4), False),  # gaps between command buffers
        (ENCODERS, (20, 4, 8, 8), False),
        (ENCODERS, (20, 4, 9, 9), True),
        (LATE, (600, 300, 1, 11), False),  # all alike, up to 300 µs
        (LATE, (600, 301, 1, 11), True),
        (LATE, (600, 100, 1, 7), False),  # few, from 100 µs on
        (LATE, (600, 101, 1, 7), True),
        (LATE, (600, 0, 1, 11), False),
        # what follows an empty queue is late only if most of the gap is
        (LATE, (600, 400, 1, 11, 200), False),
        (LATE, (600, 400, 1, 11, 201), True),
    ],
)
def test_each_gap_belongs_to_one_of_them(
    rule: str, pieces: tuple[int, ...], *, found: bool
) -> None:
    assert bool(judged(rule, gpu_intervals=row(*pieces))) == found


def test_a_start_that_stands_out_of_the_boundaries_is_late() -> None:
    rows, at = [], 0
    for number in range(60):
        at += 300 if number % 6 == 0 else 60
        rows.append((at - 5_000, at - 4_990, at, at + 500, at + 540))
        at += 500
    [finding] = judged(LATE, **handed_over(rows))
    assert finding.saving == 9 * 300 * US
    [boundaries] = judged(BUFFERS, **handed_over(rows))
    assert boundaries.saving == 50 * 60 * US


def test_time_of_others_on_the_channel_is_no_late_start() -> None:
    own = [(step * 1_000 * US, 600 * US) for step in range(11)]
    others = [(start + 650 * US, 330 * US) for start, _ in own[:10]]
    frame = intervals(own, others, latencies=[1_000 * US] * 11).assign(channel="Compute")
    assert not judged(LATE, gpu_intervals=frame)
    window = phases(5_000 * US, 3_000 * US)
    [finding] = judged(LATE, gpu_intervals=row(600, 400, number=11, ahead=1_000), phases=window)
    assert "of the steady window" in finding.message
    assert finding.saving == 3 * 400 * US


def test_idle_time_while_the_host_encodes_is_the_saving() -> None:
    [finding] = judged(HOST, **handed_over(late()))
    # After 400 µs of work it lasts 550 until the next commit, and 50 until the start.
    assert (finding.saving, finding.within) == (39 * 600 * US, "bubbles")
    assert "in 39 gaps) while the host encoded the next work" in finding.message
    assert "The target has 40 pieces of device work" in finding.message
    assert finding.evidence[0].end - finding.evidence[0].start == 600 * US
    assert "mx.compile" in finding.advice


def test_idle_time_of_turns_could_be_won() -> None:
    tables = handed_over(turns(host=200, device=700))
    [finding] = judged(QUEUE, **tables)
    assert "Before 19 gaps the host had waited for all of its work" in finding.message
    assert (finding.saving, finding.within) == (19 * (200 + 50 + 30) * US, "bubbles")
    assert len(finding.evidence) == 19
    assert "mx.async_eval" in finding.advice
    # Waits inside of iterations are left to frequent-readback.
    [finding] = judged(QUEUE, **tables, steps=row_of_steps([1_960 * US] * 10))
    assert finding.saving == 9 * 280 * US
    # Side by side, an iteration takes what the host takes: 720 µs in place of 980.
    [finding] = judged(QUEUE, **handed_over(turns(host=700, device=200)))
    assert finding.saving is not None
    assert finding.saving / (19 * 260 * US) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        (BUFFERS, WAITS),
        (HOST, [(at, at + 600, at + 650, at + 990, at + 1_000) for at in range(0, 40_000, 1_000)]),
        (HOST, late(busy=980)),
        (QUEUE, AHEAD),
        (QUEUE, turns(host=10, device=5_000)),
        (QUEUE, NEVER_WAITS),
    ],
)
def test_what_came_about_in_another_way_is_silent(rule: str, rows: list[tuple[int, ...]]) -> None:
    assert not judged(rule, **handed_over(rows))


@pytest.mark.parametrize(
    ("rule", "changes", "reason"),
    [
        (BUFFERS, {"command_buffer": None}, "to which command buffers"),
        (BUFFERS, {"start_latency": None}, "when work was committed is not known"),
        (ENCODERS, {"command_buffer": None}, "to which command buffers"),
        (LATE, {"start_latency": None}, "when work was committed is not known"),
        (HOST, {"start_latency": None}, "when work was committed is not known"),
        (QUEUE, {}, "both a commit and a completion"),
    ],
)
def test_a_rule_abstains_where_it_cannot_know(
    rule: str, changes: dict[str, Any], reason: str
) -> None:
    frame = row(40, 20)
    known = frame.assign(**changes).astype(frame.dtypes.to_dict())
    with pytest.raises(Unavailable, match=reason):
        judged(rule, gpu_intervals=known)
