"""How fast the workload went by its own marks, how even its steps are, what they cost."""

import pandas as pd
import pytest

from analysed import (
    MS,
    handed_over,
    intervals,
    make_named_table,
    measure_tables,
    row_of_steps,
    steady,
    table,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

US = 1_000


def steps(*rows: tuple[int, int, str, int, str | None]) -> pd.DataFrame:
    return table("start duration phase tokens variant", *rows)


WARM = (0, 900, "warm-up", 16, None)
STEADY = steps(WARM, (1_000, 100, "steady", 16, None), (1_200, 300, "steady", 16, None))
# Waits for load are no steps but take their time.
SERVED = steps(
    (0, 600, "steady", 0, "idle"),
    (600, 100, "steady", 16, None),
    (700, 100, "steady", 16, None),
    (800, 200, "steady", 0, "idle"),
)
NOTES = make_named_table(("reference", 900, 90), ("reference", 1_100, 50), ("admit", 1_160, 10))
MODEL = pd.DataFrame({"bytes_unique": [3_000_000], "bytes_written": [1_000_000]})


def test_steady_steps_count_from_first_start_to_last_end() -> None:
    for name, tables, value in (
        ("step_rate", {"steps": STEADY}, 4.0),
        ("tokens_per_second", {"steps": STEADY}, 64.0),
        ("step_p50", {"steps": STEADY}, 200 * MS),
        ("step_p99", {"steps": STEADY}, 298 * MS),
        ("memory_bandwidth", {"steps": STEADY, "step_models": MODEL}, 20_000_000),
        ("step_rate", {"steps": SERVED}, 2.0),
        ("tokens_per_second", {"steps": SERVED}, 32.0),
        ("step_p50", {"steps": SERVED}, 100 * MS),
        ("tokens_per_second", {"steps": STEADY.assign(variant=["", "", "sdpa"])}, 64.0),
        # Reference work between steps is no time of theirs.
        ("step_rate", {"steps": STEADY, "spans": NOTES}, 2 / 0.45),
        ("tokens_per_second", {"steps": STEADY, "spans": NOTES}, 32 / 0.45),
    ):
        assert measure_tables(name, **tables) == pytest.approx(value)


MIXED = STEADY.assign(variant=["paged", "paged", "sdpa"])
COLD = STEADY[:1]


def test_missing_values_are_named(subtests: pytest.Subtests) -> None:
    for names, tables, reason in (
        ("step_rate tokens_per_second step_p50", {"steps": COLD}, "no step in its steady phase"),
        ("step_p50 step_p99 tokens_per_second", {"steps": MIXED}, r"variants \(paged, sdpa\)"),
        ("step_variation step_spike_share", {"steps": MIXED}, r"several variants \(paged, sdpa\)"),
        ("tokens_per_second", {"steps": STEADY.assign(tokens=0)}, "produces no tokens"),
        ("memory_bandwidth", {"step_models": MODEL[:0]}, "does not describe its steps"),
        ("memory_bandwidth", {"step_models": MODEL * 0}, "does not say how many bytes"),
    ):
        for name in names.split():
            with subtests.test((name, reason)), pytest.raises(Unavailable, match=reason):
                measure_tables(name, **{"steps": STEADY, **tables})


def test_spikes_share_is_their_excess_over_all_time() -> None:
    even = row_of_steps([10 * MS] * 20)
    assert (
        measure_tables("step_variation", steps=even)
        == measure_tables("step_spike_share", steps=even)
        == 0
    )
    spiky_steps = row_of_steps([60 * MS if place == 9 else 10 * MS for place in range(26)])
    assert measure_tables("step_spike_share", steps=spiky_steps) == pytest.approx(50 / 300)


def test_counts_per_step_and_token() -> None:
    frame = intervals([(time * US, 5 * US) for time in range(0, 120, 10)])
    frame = frame.assign(
        command_buffer=pd.array([number // 2 for number in range(12)], dtype="UInt64")
    )
    tables = {"steps": row_of_steps([40 * US] * 3).assign(tokens=2), "gpu_intervals": frame}
    assert measure_tables("command_buffers_per_step", **tables) == 2
    assert measure_tables("command_buffers_per_token", **tables) == 1
    assert measure_tables("intervals_per_token", **tables) == 2
    unnamed = frame.assign(command_buffer=pd.array([None] * 12, dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        measure_tables("command_buffers_per_step", **{**tables, "gpu_intervals": unnamed})
    host = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        measure_tables("intervals_per_token", **{**tables, "gpu_intervals": host})


def test_depth_and_readbacks() -> None:
    rows = [
        (time, time + 100, time + 100, time + 900, time + 900) for time in range(0, 4_000, 1_000)
    ]
    tables = handed_over(rows)
    tables["steps"] = row_of_steps([2_000 * US] * 2)[::-1]
    window = make_named_table(("steady", 0, 4_000), unit=US)
    assert measure_tables("queue_depth_mean", **tables, phases=window) == pytest.approx(
        3_200 / 4_000
    )
    assert measure_tables("readbacks_per_step", **tables, phases=window) == 1.5


def test_the_ceiling_is_tokens_over_the_union_of_the_work() -> None:
    for work, ceiling in (
        ([(0, 10)], 16_000),
        ([(time, 0.5) for time in range(10)], 32_000),
        ([(0, 5), (0, 9), (2, 8)], 16_000),
        ([(-5, 7), (2, 90)], 16_000),
    ):
        rows = [(round(start * MS), round(length * MS)) for start, length in work]
        tables = steady()
        warm = tables["steps"].assign(phase="warm-up", tokens=1_000)
        tables["steps"] = pd.concat([warm, tables["steps"]], ignore_index=True)
        tables["gpu_intervals"] = intervals(rows)
        assert measure_tables("kernel_ceiling", **tables) == pytest.approx(ceiling), work
        assert measure_tables("tokens_per_second", **tables) <= ceiling * 1.000001, work
    assert METRICS["kernel_ceiling"].unit == "tokens/s"


def test_without_work_or_tokens_there_is_no_ceiling() -> None:
    for tokens, work, reason in (
        (0, [(0, MS)], "produces no tokens"),
        (None, [(0, MS)], "produces no tokens"),
        (16, [(11 * MS, MS)], "100.0 % of the steady steps have no interval"),
        (16, [(0, 9 * MS)], "10.0 % of the steady steps have no interval"),
        (16, [], "the table has no rows"),
    ):
        with pytest.raises(Unavailable, match=reason):
            measure_tables("kernel_ceiling", gpu_intervals=intervals(work), **steady(tokens=tokens))
    tables = steady()
    tables["steps"] = tables["steps"].assign(variant=["paged", "sdpa"] * 5)
    with pytest.raises(Unavailable, match=r"several variants \(paged, sdpa\)"):
        measure_tables("kernel_ceiling", gpu_intervals=intervals([(0, 10 * MS)]), **tables)


def test_a_droop_is_the_loss_of_the_rate_from_first_to_last_tenth() -> None:
    slower = row_of_steps([10 * MS] * 50 + [12_500_000] * 50)
    assert measure_tables("rate_droop", steps=slower) == pytest.approx(0.2)
    faster = row_of_steps([12_500_000] * 50 + [10 * MS] * 50)
    assert measure_tables("rate_droop", steps=faster) == pytest.approx(-0.25)
    fewer_tokens = row_of_steps([10 * MS] * 60).assign(tokens=[4] * 30 + [3] * 30)
    assert measure_tables("rate_droop", steps=fewer_tokens) == pytest.approx(0.25)
    with pytest.raises(Unavailable, match="a tenth of 40 steady steps is too few"):
        measure_tables("rate_droop", steps=row_of_steps([MS] * 40))


def test_the_droop_of_a_server_is_that_between_ramp_and_tail() -> None:
    ticks = row_of_steps([10 * MS] * 100).assign(tokens=[2] * 80 + [1] * 20)
    levels = ((0, "limit_active_sequences", 2.0), (0, "active_sequences", 1.0))
    changes = ((205, "active_sequences", 2.0), (801, "active_sequences", 1.0))
    gauges = table("time name value", *levels, *changes).assign(unit="count")
    assert measure_tables("rate_droop", steps=ticks) == pytest.approx(0.5)
    assert measure_tables("rate_droop", steps=ticks, gauges=gauges) == pytest.approx(0.0)
