"""GPU counters: what they mean, which samples count, and which unit is nearest to its limit."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from analysed import M1_MAX, M3_MAX, MS, given, intervals, phases, samples
from tracekit.analysis.counters import CounterKind, Group, Meaning, bandwidth, extremes, meaning
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Fact

# Names that only one of the two sets has, and some of both.
M3 = (
    "Kernel Occupancy, Total Occupancy, Occupancy Manager Target, L1 Eviction Rate, "
    "Compute Shader Launch Limiter, ALU Limiter, ALU Utilization, F32 Limiter, F32 Utilization, "
    "F16 Limiter, Integer and Conditional Limiter, Control Flow Utilization, "
    "Instruction Throughput Limiter, Integer and Complex Utilization, L1 Cache Limiter, "
    "Texture Read Limiter, Texture Read Cache Utilization, Texture Write Limiter, GPU Bandwidth, "
    "GPU Read Bandwidth, GPU Write Bandwidth, MMU Limiter, Last Level Cache Limiter, "
    "Last Level Cache Utilization, Buffer L1 Miss Rate, VS Occupancy, FS Occupancy"
).split(", ")
M1 = (
    "ALU Limiter, Buffer Load Utilization, Buffer Read Limiter, Buffer Store Utilization, "
    "Buffer Write Limiter, Compute Occupancy, F16 Utilization, Fragment Interp Limiter, "
    "Fragment Occupancy, GPU Read Bandwidth, LLC Limiter, LLC Utilization, MMU Utilization, "
    "TG/IB Load Limiter, TG/IB Store Utilization, Texture Cache Limiter, "
    "Texture Filtering Limiter, Texture Sample Limiter, Texture Write Utilization, "
    "Total Occupancy, Vertex Occupancy"
).split(", ")


def test_counters_of_both_sets_mean_something() -> None:
    for name in [*M3, *M1]:
        counter_meaning = meaning(name)
        assert counter_meaning is not None, name
        kinds = CounterKind.LIMITER, CounterKind.UTILIZATION, CounterKind.BANDWIDTH
        for kind, word in zip(kinds, ("Limiter", "Utilization", "Bandwidth"), strict=True):
            assert (counter_meaning.kind is kind) is name.endswith(word), name
    assert {group_meaning.group for name in [*M1, *M3] if (group_meaning := meaning(name))} == set(
        Group
    )
    assert meaning("F16 Limiter") == Meaning(CounterKind.LIMITER, Group.ARITHMETIC, "F16")
    assert meaning("GPU Read Bandwidth") == Meaning(CounterKind.BANDWIDTH, Group.MEMORY, "read")
    for name in ("RT Unit Active", "Top Performance Limiter", "Partial Renders", "", "Limiter"):
        assert meaning(name) is None  # no load of a unit


def test_names_of_one_thing_mean_the_same() -> None:
    for name, synonym in (
        ("Kernel Occupancy", "Compute Occupancy"),
        ("Last Level Cache Limiter", "GPU Last Level Cache Limiter"),
        ("LLC Utilization", "Last Level Cache Utilization"),
        ("TG/IB Load Limiter", "Threadgroup/Imageblock Load Limiter"),
        ("ALU Limiter", "  alu  limiter "),
    ):
        assert meaning(name) == meaning(synonym) is not None


ALU = "ALU Limiter"


WORK = intervals([(0, 20 * MS)])


def share(counters: pd.DataFrame, work: pd.DataFrame = WORK) -> float:
    means = given(gpu_counters=counters, gpu_intervals=work)["counter_means"]
    return float(means.set_index("counter").loc[ALU, "share"])


def test_samples_between_the_targets_work_do_not_count() -> None:
    work = intervals([(number * MS, MS // 2) for number in range(20)])
    inside_samples = samples({ALU: 80.0})
    outside = samples({ALU: 2.0}, start=600_000)
    all_samples = pd.concat([inside_samples, outside], ignore_index=True)
    assert share(all_samples, work) == pytest.approx(0.8)
    kept_samples = given(gpu_counters=all_samples, gpu_intervals=work)["counter_samples"]
    assert kept_samples["start"].tolist() == inside_samples["start"].tolist()


def test_a_sample_weighs_as_much_of_it_as_the_work_covers() -> None:
    work = intervals([(0, 10 * MS), (10 * MS, 60_000)])
    full = samples({ALU: 20.0}, count=10, period=MS)
    partly = samples({ALU: 90.0}, count=10, period=0, start=10 * MS)  # 60 of 100 µs
    all_samples = pd.concat([full, partly], ignore_index=True)
    measured_share = share(all_samples, work)
    assert measured_share == pytest.approx((0.2 * 100 + 0.9 * 60) / 160)


@pytest.mark.parametrize(("covered", "kept"), [(50_000, 21), (49_999, 1)])
def test_a_sample_counts_from_half_of_it_on(covered: int, kept: int) -> None:
    work = intervals([*((number * MS, covered) for number in range(20)), (50 * MS, MS)])
    table = pd.concat([samples({ALU: 9.0}), samples({ALU: 9.0}, count=1, start=50 * MS)])
    given_tables = given(gpu_counters=table, gpu_intervals=work, phases=phases(0, 60 * MS))
    assert len(given_tables["counter_samples"]) == kept


def test_raw_samples_without_a_length_are_moments() -> None:
    assert share(samples({ALU: 40.0}, length=None)) == pytest.approx(0.4)


def test_a_few_samples_that_others_share_are_left_out() -> None:
    work = intervals([(0, 20 * MS)], other_times=[(0, 1_500_000)])  # the first two samples
    for length in (100_000, None):
        shared = samples({ALU: 99.0}, count=2, length=length)
        alone = samples({ALU: 30.0}, count=18, start=2 * MS, length=length)
        all_samples = pd.concat([shared, alone], ignore_index=True)
        assert share(all_samples, work) == pytest.approx(0.3), length


def test_values_that_cannot_be_percentages_are_left_out() -> None:
    for odd, kept_count in (
        *((float(word), 19) for word in ("nan", "inf", "-inf", "-0.1", "110.1", "1.8e19")),
        *((0.0, 20), (110.0, 20), (None, 19)),
    ):
        table = samples({ALU: 50.0})
        table.loc[3, "value"] = odd
        odds = (odd or 0) / 100 if kept_count == 20 else 0.5
        assert share(table) == pytest.approx((0.5 * 19 + odds) / 20), odd
        means = given(gpu_counters=table, gpu_intervals=WORK)["counter_means"]
        assert means["samples"].tolist() == [kept_count], odd
    assert share(samples({ALU: 100.08})) == 1.0


def test_the_trace_or_else_the_name_tells_a_percentage() -> None:
    table = samples({ALU: 7.0, "GPU Read Bandwidth": 305.8}, percentage=False)
    means = given(gpu_counters=table, gpu_intervals=WORK)["counter_means"]
    assert means["share"].isna().all()
    assert means["mean"].tolist() == pytest.approx([7.0, 305.8])
    table = samples({ALU: 7.0, "GPU Read Bandwidth": 30.0}, percentage=None)
    means = given(gpu_counters=table, gpu_intervals=WORK)["counter_means"].set_index("counter")
    assert means.loc[ALU, "share"] == pytest.approx(0.07)
    assert "GPU Read Bandwidth" not in means.index  # in percent on some chips, GB/s on others


SHORT = intervals([(number * MS, 20_000) for number in range(20)])
SHARED = intervals([(0, 20 * MS)], other_times=[(0, 12 * MS)])


def test_missing_counters_are_named_with_their_remedy() -> None:
    for counters, work, reason in (
        (None, WORK, "no counter samples.*--counters on"),
        (samples({}), WORK, "no counter samples.*--counters on"),
        (samples({"RT Unit Active": 0.0}), WORK, "only RT Unit Active.*--counters on"),
        (samples({ALU: 5.0}, length=330_000), SHORT, "sampled too rarely for work this short"),
        (samples({ALU: 1.0}), SHARED, r"device-wide, .* in 60\.0 % of the samples"),
        (samples({ALU: 50.0, "Frobs": 1.0}, count=9), WORK, r"10 samples .* ALU Limiter \(9\)"),
        (samples({ALU: 1e9, "Frobs": 1.0}), WORK, r"has 10 samples .* such as ALU Limiter \(20\)"),
    ):
        with pytest.raises(Unavailable, match=reason):
            given(gpu_intervals=work, gpu_counters=counters)["counter_means"]


def test_counters_of_no_known_meaning_are_named_by_their_samples() -> None:
    counts = {"Boing": 2, "Clank": 3, "Ding": 4, "Frobs": 10, "Glurp": 5, "Hiss": 12}
    table = pd.concat([samples({name: 1.0}, count=count) for name, count in counts.items()])
    given_tables = given(gpu_counters=table, gpu_intervals=WORK)
    with pytest.raises(Unavailable) as raised:
        given_tables["counter_means"]
    words = "such as Hiss (12), Frobs (10), Glurp (5), Ding (4), Clank (3). Record steady work for "
    assert str(raised.value).endswith(f"{words}longer, or with another Counter Set.")


def test_extremes_are_windows_with_their_value_as_the_trace_counts_it() -> None:
    table = samples({ALU: 50.0, "MMU Limiter": 99.0})
    table.loc[4, "value"] = 90.0  # the third sample of the ALU limiter
    table.loc[8, "value"] = 10.0  # the fifth
    kept_samples = given(gpu_counters=table, gpu_intervals=WORK)["counter_samples"]
    highest, lowest = extremes(kept_samples, ALU), extremes(kept_samples, ALU, lowest=True)
    start = 2 * MS
    assert highest[0] == Evidence("gpu_counters", start, start + 100_000, "ALU Limiter 90.0 %")
    assert (len(highest), lowest[0].note) == (8, "ALU Limiter 10.0 %")
    reads = "GPU Read Bandwidth"
    for percentage, note in ((True, f"{reads} 30.0 %"), (False, f"{reads} 30 GB/s")):
        table = samples({reads: 30.0}, percentage=percentage)
        kept_samples = given(gpu_counters=table, gpu_intervals=WORK)["counter_samples"]
        assert {evidence.note for evidence in extremes(kept_samples, reads)} == {note}


def made(values: Mapping[str, float], gigabytes: Mapping[str, float] | None = None) -> Any:
    table = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
    return given(M3_MAX, gpu_counters=table, gpu_intervals=WORK)


def test_each_part_is_reported_by_its_highest_counter() -> None:
    values = {"ALU Limiter": 49.0, "F32 Limiter": 92.0, "Last Level Cache Limiter": 57.0}
    values |= {"L1 Cache Limiter": 11.0, "MMU Limiter": 19.0, "Buffer L1 Miss Rate": 99.0}
    values |= {"Compute Shader Launch Limiter": 83.0, "Kernel Occupancy": 99.0}
    loads = made(values, {"Buffer Read Limiter": 300.0})["loads"]  # no share of anything
    parts = [part.counter for part in (loads.arithmetic, loads.memory, loads.other_units)]
    assert parts == ["F32 Limiter", "Last Level Cache Limiter", "Compute Shader Launch Limiter"]
    assert loads.require_loads()[0].facts("arithmetic") == (
        Fact("arithmetic_counter", "F32 Limiter"),
        Fact("arithmetic_share", 0.92, "ratio"),
    )


def test_a_limiting_unit_exceeds_others_by_a_margin() -> None:
    loads = made({"ALU Limiter": 70.0, "MMU Limiter": 79.0})["loads"]
    assert not loads.has_other_bottleneck(0.10)
    assert loads.has_other_bottleneck(0.05)


def test_bandwidth_is_a_share_of_the_chips() -> None:
    percent = made({"GPU Read Bandwidth": 60.0, "GPU Write Bandwidth": 8.0})["counter_means"]
    load = bandwidth(percent, {})
    assert load is not None
    assert load.counter == "GPU Read Bandwidth + GPU Write Bandwidth"
    assert load.share == pytest.approx(0.68)
    gigabytes = {"GPU Bandwidth": 300.0, "GPU Read Bandwidth": 296.0, "GPU Write Bandwidth": 4.0}
    table = made({"ALU Limiter": 1.0}, gigabytes)["counter_means"]
    for machine, share in (
        (M3_MAX.machine, pytest.approx(0.75)),
        ({}, None),
        ({"chip": "Apple M9"}, None),
    ):
        load = bandwidth(table, machine)
        assert (load and load.share) == share, machine
    capped_load = bandwidth(made({}, {"GPU Bandwidth": 900.0})["counter_means"], M1_MAX.machine)
    assert capped_load is not None
    assert capped_load.share == 1.0
