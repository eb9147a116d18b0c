"""Rules that are filters of the idle time: each has the gaps that came about in one way.

`frequent-command-buffers`, `tiny-encoders`, `late-start`, `host-bound`, `shallow-queue`,
`frequent-readback`. Times are in µs.
"""

import numpy as np
import pandas as pd
import pytest

from analysed import (
    MS,
    Golden,
    handed_over,
    intervals,
    judge_tables,
    make_named_table,
    phases,
    row_of_steps,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.structure import repeating

US = 1_000
BUFFERS, ENCODERS, LATE = "frequent-command-buffers", "tiny-encoders", "late-start"
HOST, QUEUE, READS = "host-bound", "shallow-queue", "frequent-readback"


def approximate(time: int) -> object:
    """What a replay of few iterations wins: its ends count as well."""
    return pytest.approx(time, rel=0.05)


def row(
    work: int, gap: int, per_buffer: int = 1, number: int = 200, lead: int = 5_000
) -> pd.DataFrame:
    """Make pieces of `work`, `gap` apart, committed `lead` before they start."""
    rows = [(index * (work + gap) * US, work * US) for index in range(number)]
    frame = intervals(rows, latencies=[lead * US] * number)
    numbers = [index // per_buffer for index in range(number)]
    return frame.assign(command_buffer=pd.array(numbers, dtype="UInt64"))


def turns(host: int, device: int) -> list[tuple[int, ...]]:
    """Make 20 command buffers, each begun 20 µs after the last is complete."""
    rows, time = list[tuple[int, ...]](), 0
    for _ in range(20):
        commit, end = time + host, time + host + 50 + device
        rows.append((time, commit, commit + 50, end, end + 10))
        time = end + 30
    return rows


def late(busy: int = 400) -> list[tuple[int, ...]]:
    """Make 40 command buffers that take 1 ms to encode, each begun at the last one's commit."""
    return [
        (time, time + 1_000, time + 1_050, time + 1_050 + busy, time + 1_060 + busy)
        for time in range(0, 40_000, 1_000)
    ]


def encoded_after_a_wait(begin: int) -> list[tuple[int, ...]]:
    """Make 40 command buffers, each encoded from then on until 600 µs after the last report."""
    return [
        (time + begin, time + 600, time + 650, time + 990, time + 1_000)
        for time in range(0, 40_000, 1_000)
    ]


AHEAD = [
    (time, time + 200, time + 900, time + 1_850, time + 2_000) for time in range(0, 20_000, 1_000)
]
NEVER_WAITS = [
    (time, time + 1_000, time + 1_010, time + 1_410, time + 1_420)
    for time in range(0, 20_000, 1_000)
]
WAITS = [
    (time + 60, time + 70, time + 80, time + 130, time + 140) for time in range(0, 20_000, 100)
]


# Command buffers of 1 ms: 100 µs of encoding, 50 µs of launch, 800 µs of work; 10 to wake.
EACH_WAITS = handed_over(
    [(time, time + 100, time + 150, time + 950, time + 960) for time in range(0, 40_000, 1_000)]
)
SEVERAL_AHEAD = handed_over(
    [(time, time + 100, time + 950, time + 1_900, time + 1_910) for time in range(0, 40_000, 1_000)]
)


def test_boundaries_and_late_starts_are_findings(golden: Golden) -> None:
    buffers, steps = row(40, 20), row_of_steps([1_200 * US] * 10)
    of_buffers = judge_tables(BUFFERS, gpu_intervals=buffers, steps=steps)  # 199 gaps of 20 µs
    encoders, steps = row(20, 4, per_buffer=20), row_of_steps([480 * US] * 10)
    of_encoders = judge_tables(ENCODERS, gpu_intervals=encoders, steps=steps)  # 190 gaps of 4 µs
    starts = row(600, 400, number=11, lead=1_000)
    waited = judge_tables(LATE, gpu_intervals=starts)  # 10 gaps of 400 µs
    steady = judge_tables(
        LATE, gpu_intervals=starts, phases=phases(5_000 * US, 3_000 * US)
    )  # 3 of them
    golden(*of_buffers, *of_encoders, *waited, *steady)
    assert not judge_tables(ENCODERS, {"limit": 0.2}, gpu_intervals=encoders)
    buffers.loc[100:, "start"] += 70 * US  # one longer gap: the median counts
    [finding] = judge_tables(BUFFERS, gpu_intervals=buffers)
    assert finding.saving == 199 * 20 * US


def test_each_gap_belongs_to_one_of_them() -> None:
    for rule, pieces, is_found in (
        (BUFFERS, (500, 60), True),  # a boundary costs what it costs
        (BUFFERS, (1_500, 260), True),
        (BUFFERS, (500, 10), False),  # short gaps
        (BUFFERS, (40, 20, 200), False),  # one buffer
        (BUFFERS, (40, 20, 1, 8), False),  # seven boundaries
        (BUFFERS, (40, 20, 1, 9), True),
        (BUFFERS, (900, 301), False),  # late starts
        (BUFFERS, (40, 20, 1, 200, 20), False),  # committed as the gap began
        (BUFFERS, (40, 20, 1, 200, 21), True),
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
        # on a device that had run dry it is late from 100 µs on, too
        (LATE, (600, 400, 1, 7, 100), False),
        (LATE, (600, 400, 1, 7, 101), True),
        (LATE, (600, 400, 1, 11, 101), False),  # all starts take as long
    ):
        assert bool(judge_tables(rule, gpu_intervals=row(*pieces))) == is_found, pieces


def test_a_start_later_than_the_boundaries_is_late() -> None:
    rows, time = [], 0
    for number in range(60):
        time += 300 if number % 6 == 0 else 60
        rows.append((time - 5_000, time - 4_990, time, time + 500, time + 540))
        time += 500
    [finding] = judge_tables(LATE, **handed_over(rows))
    # What it was late by is more than a boundary takes.
    assert finding.saving == approximate(9 * (300 - 60) * US)
    [boundaries] = judge_tables(BUFFERS, **handed_over(rows))
    assert boundaries.saving == approximate(59 * 60 * US)  # a late start has a boundary as well
    # Fewer than two boundaries an iteration are no habit of it.
    steps = row_of_steps([1_600 * US] * 6)
    assert judge_tables(LATE, gpu_intervals=row(600, 300, 1, 11), steps=steps)


def test_time_of_others_on_the_channel_is_not_a_late_start() -> None:
    target_rows = [(step * 1_000 * US, 600 * US) for step in range(11)]
    other_rows = [(start + 650 * US, 330 * US) for start, _ in target_rows[:10]]
    frame = intervals(target_rows, other_rows, latencies=[1_000 * US] * 11).assign(
        channel="Compute"
    )
    assert not judge_tables(LATE, gpu_intervals=frame)


def test_idle_time_while_the_host_encodes_or_after_it_waited_is_the_saving(golden: Golden) -> None:
    # The host takes 1,000 µs between commits, the device 400: half of it, or all but 400, is won.
    [host] = judge_tables(HOST, **handed_over(late()))
    assert host.saving == approximate(39 * 500 * US)
    assert host.fact("saving_most") == approximate(39 * 600 * US)
    tables = handed_over(turns(host=200, device=700))
    [queue] = judge_tables(QUEUE, **tables)
    assert queue.saving == approximate(19 * (200 + 50 + 30) * US)
    assert queue.fact("pulled") == "in-flight"
    assert queue.fact("saving_least") == 0  # nothing tells whether an iteration needs the last one
    # Waits inside of iterations are left to frequent-readback.
    [between_steps] = judge_tables(QUEUE, **tables, steps=row_of_steps([1_960 * US] * 10))
    assert between_steps.saving == approximate(9 * 280 * US)
    # Of 39 waits 9 lie between two steps.
    [inside_steps] = judge_tables(READS, **EACH_WAITS, steps=row_of_steps([4_000 * US] * 10))
    assert inside_steps.saving == approximate((39 - 9) * 200 * US)
    golden(host, queue, between_steps, inside_steps)
    # Side by side, an iteration takes what the host takes: 720 µs in place of 980.
    [finding] = judge_tables(QUEUE, **handed_over(turns(host=700, device=200)))
    assert finding.saving is not None
    assert finding.saving / (19 * 260 * US) == pytest.approx(1, abs=0.06)


def test_waits_that_are_few_or_cost_little_are_silent() -> None:
    for tables, limits, step in (
        (EACH_WAITS, {}, 1_000),  # one wait in a step
        (EACH_WAITS, {"limit": 0.15}, 4_000),  # waits inside of steps cost as much
        (EACH_WAITS, {"most": 3.9}, 4_000),
        (SEVERAL_AHEAD, {}, 4_000),  # several command buffers without a wait
    ):
        steps = row_of_steps([step * US] * (40_000 // step))
        assert not judge_tables(READS, limits, **tables, steps=steps)


def test_readbacks_are_known_by_the_workload_or_by_the_loop(golden: Golden) -> None:
    frame = intervals([(time * US, 500 * US) for time in range(0, 40_000, 1_000)], clock="host")
    spans = make_named_table(
        *(("readback", time + 500, 500) for time in range(-4_000, 44_000, 1_000)), unit=US
    )
    steps = row_of_steps([4_000 * US] * 10)
    readbacks = judge_tables(
        READS, gpu_intervals=frame, steps=steps, spans=spans
    )  # 30 times 500 µs
    [twice] = judge_tables(READS, gpu_intervals=frame, steps=steps, spans=pd.concat([spans, spans]))
    assert twice.fact("waits") == 8
    short_steps = row_of_steps([1_000 * US] * 40)
    assert not judge_tables(READS, gpu_intervals=frame, steps=short_steps, spans=spans)
    # Two waits in each iteration: after a short piece of work, and after a long one.
    rows = list[tuple[int, ...]]()
    for time in range(0, 40_000, 2_000):
        rows += [(time, time + 100, time + 150, time + 450, time + 460)]
        rows += [(time + 600, time + 700, time + 750, time + 1_700, time + 1_710)]
    golden(*readbacks, *judge_tables(READS, **handed_over(rows)))  # 20 times 300 µs


def test_work_that_is_encoded_whole_before_anything_is_committed_is_to_be_committed_earlier() -> (
    None
):
    """The host waits for each, but a part of it could have been committed 590 µs earlier."""
    [finding] = judge_tables(HOST, **handed_over(encoded_after_a_wait(begin=0)))
    assert finding.lever == "commit-earlier"
    assert finding.fact("lost_share") == pytest.approx(0.59, abs=0.02)
    assert finding.saving == approximate(40 * 340 * US)  # what the device works meanwhile, at most


def test_other_origins_are_silent() -> None:
    for rule, rows in (
        (BUFFERS, WAITS),
        (HOST, encoded_after_a_wait(begin=560)),
        (HOST, late(busy=980)),
        (QUEUE, AHEAD),
        (QUEUE, turns(host=10, device=5_000)),
        (QUEUE, NEVER_WAITS),
    ):
        assert not judge_tables(rule, **handed_over(rows)), (rule, rows[0])


def test_a_rule_abstains_without_knowledge_or_reports() -> None:
    for rule, changes, reason in (
        (BUFFERS, {"command_buffer": None}, "to which command buffers"),
        (BUFFERS, {"start_latency": None}, "when work was committed is not known"),
        (ENCODERS, {"command_buffer": None}, "to which command buffers"),
        (LATE, {"start_latency": None}, "when work was committed is not known"),
        (HOST, {"start_latency": None}, "when work was committed is not known"),
        (QUEUE, {}, "both a commit and a completion"),
    ):
        frame = row(40, 20)
        changed_frame = frame.assign(**changes).astype(frame.dtypes.to_dict())
        with pytest.raises(Unavailable, match=reason):
            judge_tables(rule, gpu_intervals=changed_frame)
    host = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="has no spans `readback`"):
        judge_tables(READS, gpu_intervals=host, steps=row_of_steps([10]))
    with pytest.raises(Unavailable, match="no repeating structure was found"):
        judge_tables(READS, **{name: rows.iloc[:5] for name, rows in EACH_WAITS.items()})


def test_of_two_runs_the_longer_one_repeats() -> None:
    # The first is shorter than the break behind it.
    pieces = np.array([*range(10, 30), *[3] * 6, *range(40, 48), *[3] * 50])
    moments = np.arange(pieces.size) * 10 * MS
    times = {
        "encoding_start": moments,
        "committed": moments,
        "started": moments,
        "ended": moments + MS,
        "completed": moments + MS,
    }
    repetition = repeating(pd.DataFrame({**times, "busy": MS, "encoders": pieces}))
    assert repetition is not None
    assert repetition.starts.tolist() == moments[-50:].tolist()


def make_timeline(pauses: np.ndarray) -> pd.DataFrame:
    """Make command buffers of 40 µs each, begun so many ns after the commit of the one before."""
    commits = np.cumsum(np.append(0, pauses.astype(np.int64)))
    times = {
        "encoding_start": commits,
        "committed": commits,
        "started": commits + 30 * US,
        "ended": commits + 70 * US,
        "completed": commits + 900 * US,
    }
    return pd.DataFrame({**times, "busy": 40 * US, "encoders": 1})


def test_pauses_that_are_somewhat_longer_divide_equal_command_buffers() -> None:
    noise = np.random.default_rng(1)
    waits = np.tile([100, 100, 100, 100, 100, 300], 100) * US
    timeline = make_timeline(waits * noise.uniform(0.9, 1.1, waits.size))
    repetition = repeating(timeline)
    assert repetition is not None
    assert (len(repetition), repetition.groups) == (100, 1)
    assert repetition.starts.tolist() == timeline["committed"][:-1:6].tolist()
    for seed in range(20):
        around_100 = np.random.default_rng(seed).normal(100 * US, 20 * US, 600)
        assert repeating(make_timeline(around_100)) is None, seed
