"""Only samples in the target's own work count, each for the time in which that work ran."""

import pandas as pd
import pytest

from analysed import intervals, phases
from counter_runs import MS, given, samples
from tracekit.analysis.counters import extremes
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence

ALU = "ALU Limiter"


def share(known: dict[str, pd.DataFrame], counter: str = ALU) -> float:
    means = given(**known)["counter_means"].set_index("counter")
    return float(means.loc[counter, "share"])


def test_samples_between_the_targets_work_do_not_count() -> None:
    work = intervals([(number * MS, MS // 2) for number in range(20)])
    inside = samples({ALU: 80.0})
    outside = samples({ALU: 2.0}, start=600_000)
    both = pd.concat([inside, outside], ignore_index=True)
    assert share({"gpu_counters": both, "gpu_intervals": work}) == pytest.approx(0.8)
    kept = given(gpu_counters=both, gpu_intervals=work)["counter_samples"]
    assert kept["start"].tolist() == inside["start"].tolist()


def test_a_sample_weighs_as_much_of_it_as_the_work_covers() -> None:
    work = intervals([(0, 10 * MS), (10 * MS, 60_000)])
    full = samples({ALU: 20.0}, count=10, every=MS)
    partly = samples({ALU: 90.0}, count=10, every=0, start=10 * MS)  # 60 of 100 µs
    both = pd.concat([full, partly], ignore_index=True)
    found = share({"gpu_counters": both, "gpu_intervals": work})
    assert found == pytest.approx((0.2 * 100 + 0.9 * 60) / 160)


@pytest.mark.parametrize(("covered", "kept"), [(50_000, 21), (49_999, 1)])
def test_a_sample_counts_from_half_of_it_on(covered: int, kept: int) -> None:
    work = intervals([*((number * MS, covered) for number in range(20)), (50 * MS, MS)])
    table = pd.concat([samples({ALU: 9.0}), samples({ALU: 9.0}, count=1, start=50 * MS)])
    known = given(gpu_counters=table, gpu_intervals=work, phases=phases(0, 60 * MS))
    assert len(known["counter_samples"]) == kept


def test_samples_that_are_mostly_idle_are_left_out() -> None:
    work = intervals([(number * MS, 20_000) for number in range(20)])
    long = samples({ALU: 5.0}, length=330_000)
    with pytest.raises(Unavailable, match="sampled too rarely for work this short"):
        given(gpu_counters=long, gpu_intervals=work)["counter_samples"]


def test_raw_samples_without_a_length_are_moments() -> None:
    work = intervals([(0, 20 * MS)])
    assert share(
        {"gpu_counters": samples({ALU: 40.0}, length=None), "gpu_intervals": work}
    ) == pytest.approx(0.4)


def test_samples_outside_of_the_steady_window_do_not_count() -> None:
    early, late = samples({ALU: 1.0}), samples({ALU: 60.0}, start=50 * MS)
    known = {
        "gpu_counters": pd.concat([early, late], ignore_index=True),
        "gpu_intervals": intervals([(0, 100 * MS)]),
        "phases": phases(50 * MS, 50 * MS),
    }
    assert share(known) == pytest.approx(0.6)


def test_a_few_samples_that_others_share_are_left_out() -> None:
    work = intervals([(0, 20 * MS)], others=[(0, 1_500_000)])  # the first two samples
    shared, alone = samples({ALU: 99.0}, count=2), samples({ALU: 30.0}, count=18, start=2 * MS)
    both = pd.concat([shared, alone], ignore_index=True)
    assert share({"gpu_counters": both, "gpu_intervals": work}) == pytest.approx(0.3)


def test_where_others_used_the_gpu_most_of_the_time_nothing_is_known() -> None:
    work = intervals([(0, 20 * MS)], others=[(0, 12 * MS)])
    with pytest.raises(Unavailable, match=r"device-wide, .* in 60\.0 % of the samples"):
        given(gpu_counters=samples({ALU: 1.0}), gpu_intervals=work)["counter_means"]


@pytest.mark.parametrize(
    "odd", [float("nan"), float("inf"), float("-inf"), None, -3.0, 250.0, 1.8e19]
)
def test_values_that_cannot_be_percentages_are_left_out(odd: float | None) -> None:
    table = samples({ALU: 50.0})
    table.loc[3, "value"] = odd
    known = {"gpu_counters": table, "gpu_intervals": intervals([(0, 20 * MS)])}
    assert share(known) == pytest.approx(0.5)
    assert given(**known)["counter_means"]["samples"].tolist() == [19]


def test_slightly_above_a_hundred_is_a_hundred() -> None:
    known = {"gpu_counters": samples({ALU: 100.08}), "gpu_intervals": intervals([(0, 20 * MS)])}
    assert share(known) == 1.0


def test_what_the_trace_does_not_count_in_percent_has_no_share() -> None:
    work = intervals([(0, 20 * MS)])
    table = samples({ALU: 7.0, "GPU Read Bandwidth": 305.8}, percentage=False)
    means = given(gpu_counters=table, gpu_intervals=work)["counter_means"]
    assert means["share"].isna().all()
    assert means["mean"].tolist() == pytest.approx([7.0, 305.8])


def test_where_the_trace_says_nothing_the_name_tells_a_percentage() -> None:
    work = intervals([(0, 20 * MS)])
    table = samples({ALU: 7.0, "GPU Read Bandwidth": 30.0}, percentage=None)
    means = given(gpu_counters=table, gpu_intervals=work)["counter_means"].set_index("counter")
    assert means.loc[ALU, "share"] == pytest.approx(0.07)
    assert "GPU Read Bandwidth" not in means.index  # in percent on some chips, GB/s on others


def test_counters_may_have_unlike_numbers_of_samples() -> None:
    table = pd.concat([samples({ALU: 30.0}), samples({"MMU Limiter": 9.0}, count=12)])
    known = given(gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))
    counts = known["counter_means"].set_index("counter")["samples"]
    assert counts.to_dict() == {ALU: 20, "MMU Limiter": 12}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param(None, "no counter samples", id="no-table"),
        pytest.param(samples({}), "no counter samples", id="no-rows"),
        pytest.param(samples({"RT Unit Active": 0.0}), "only RT Unit Active", id="ray-tracing"),
        pytest.param(samples({"Frobs": 1.0}), "known here has 10 .* are: Frobs", id="unknown"),
    ],
)
def test_what_is_missing_is_said_with_how_to_get_it(
    table: pd.DataFrame | None, reason: str
) -> None:
    known = {"gpu_intervals": intervals([(0, 20 * MS)])}
    if table is not None:
        known["gpu_counters"] = table
    with pytest.raises(Unavailable, match=reason) as raised:
        given(**known)["counter_means"]
    assert "--counters on" in str(raised.value)


@pytest.mark.parametrize(("count", "value"), [(9, 50.0), (20, 1e9)])
def test_too_few_samples_that_make_sense_have_no_mean(count: int, value: float) -> None:
    table = samples({ALU: value, "Frobs": 1.0}, count=count)
    known = given(gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))
    with pytest.raises(Unavailable, match=rf"has 10 samples .*: ALU Limiter \({count}\)"):
        known["counter_means"]


def test_on_a_cpu_there_are_no_counters() -> None:
    work = intervals([(0, 20 * MS)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        given(gpu_intervals=work, gpu_counters=samples({ALU: 1.0}))["counter_samples"]


def test_extremes_are_windows_with_their_value() -> None:
    table = samples({ALU: 50.0, "MMU Limiter": 99.0})
    table.loc[4, "value"] = 90.0  # the third sample of the ALU limiter
    table.loc[8, "value"] = 10.0  # the fifth
    known = given(gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))["counter_samples"]
    assert extremes(known, ALU)[0] == Evidence(
        "gpu_counters", 2 * MS, 2 * MS + 100_000, "ALU Limiter 90.0 %"
    )
    assert extremes(known, ALU, lowest=True)[0].note == "ALU Limiter 10.0 %"
    assert len(extremes(known, ALU)) == 8


def test_extremes_of_a_bandwidth_are_reported_as_the_trace_counts_it() -> None:
    reads, work = "GPU Read Bandwidth", intervals([(0, 20 * MS)])
    for percentage, note in ((True, f"{reads} 30.0 %"), (False, f"{reads} 30 GB/s")):
        table = samples({reads: 30.0}, percentage=percentage)
        known = given(gpu_counters=table, gpu_intervals=work)["counter_samples"]
        assert {one.note for one in extremes(known, reads)} == {note}
