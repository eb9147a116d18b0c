"""Rules on loops: how even their steps are, what is no part of them, and prompts that stop them.

`step-spikes`, `irregular-cadence`, `performance-cliff`, `left-out-time`, `serial-prefill`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import (
    MS,
    NO_HAPPENINGS,
    Golden,
    given,
    intervals,
    judge_tables,
    phases,
    row_of_steps,
    table,
)
from stock import Stock, frame, jitter
from tracekit.analysis.happenings import happenings
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding, Severity, longest
from tracekit.analysis.rules import RULES
from tracekit.analysis.rules.performance_cliff import _compare_names
from tracekit.analysis.wording import put_into_words
from tracekit.analysis.work_names import NamedWork


def judge(
    rule: str,
    times: list[int],
    events: pd.DataFrame = NO_HAPPENINGS,
    variants: Sequence[str] = ("",),
    **limits: float,
) -> list[Finding]:
    tables = {"iterations": row_of_steps(times, variants), "happenings": events}
    return [put_into_words(finding) for finding in inject(RULES[rule].judge, tables, limits)]


def spikes(times: list[int], *events: Any, **limits: float) -> list[Finding]:
    return judge("step-spikes", times, *events, **limits)


def cadence(times: list[int], *events: Any) -> list[Finding]:
    return judge("irregular-cadence", times, *events)


def with_spikes(*places: int, times: int = 5, number: int = 100) -> list[int]:
    return [10 * MS * (times if place in places else 1) for place in range(number)]


def noisy(spread: float, number: int = 400, seed: int = 5) -> list[int]:
    random = np.random.default_rng(seed)
    return random.lognormal(np.log(10 * MS), spread, number).astype(np.int64).tolist()


def test_the_saving_is_the_time_of_spikes_beyond_their_neighbours(golden: Golden) -> None:
    # The cause stands at each spike, and compiles are not saved twice.
    compiled = table("start duration", (305, 30), target=True)
    compile_events = happenings(None, compiled, None, None, None, None, None, None)
    golden(*spikes(with_spikes(30, 60)), *spikes(with_spikes(30, 60), compile_events))


def test_the_longest_piece_comes_first_with_its_note() -> None:
    longest_rows = longest("steps", np.array([0, 10, 30]), np.array([5, 30, 35]), ("a", "b", "c"))
    assert [(row.start, row.note) for row in longest_rows] == [(10, "b"), (0, "a"), (30, "c")]


def test_even_steps_have_no_spikes_and_thresholds_can_be_set() -> None:
    for times in (
        with_spikes(),  # even
        with_spikes(30, number=1_000),  # too little time
        [10 * MS, 50 * MS] * 50,  # alternating
        with_spikes(*range(0, 100, 5)),  # too many
        [10 * MS] * 50 + [50 * MS] * 50,  # a lasting change
        [MS * step for step in range(10, 110)],  # a drift
        *(noisy(spread, 500, 11) for spread in (0.02, 0.1, 0.3)),
    ):
        assert not spikes(times)
    one_spike = with_spikes(30, number=1_000)
    assert spikes(one_spike, limit=0.001)
    assert not spikes(one_spike, limit=0.001, least_excess=5.0)


def test_each_variant_is_judged_by_itself() -> None:
    times, variants = [10 * MS, 60 * MS] * 50, ("paged", "sdpa")
    assert not judge("step-spikes", times, variants=variants)
    times[40] = 60 * MS
    [finding] = judge("step-spikes", times, variants=variants)
    assert "1 of 50 steps of paged takes far longer" in finding.message


def test_two_speeds_are_found_with_the_cost_of_the_slow_one(golden: Golden) -> None:
    turns = [10 * MS, 14 * MS] * 50 + [10 * MS]
    slow = row_of_steps(turns)["start"].to_numpy()[1::2]
    logged = pd.DataFrame({"start": slow, "duration": 3 * MS, "name": "log"})
    compiled = logged.assign(name="compile")
    explained = [
        happenings(None, None, None, None, None, spans, None, None) for spans in (logged, compiled)
    ]
    golden(
        *cadence(turns),
        *(
            explained_finding
            for events in explained
            for explained_finding in cadence(turns, events)
        ),
    )
    # They need not take turns evenly.
    assert not cadence([10 * MS] * 4 + [20 * MS] + [10 * MS] * 45)
    [finding] = cadence(([10 * MS] * 4 + [20 * MS]) * 10 + [10 * MS])
    assert "20.0 % are slow" in finding.message
    turns = [10 * MS, 15 * MS] * 40  # 50 times the hundredth of a step that no clock is better than
    for separation, words in ((50.0, "swing between two speeds"), (50.01, "come unevenly")):
        [finding] = judge("irregular-cadence", turns, least_separation=separation)
        assert words in finding.message


def test_broad_noise_is_uneven_usual_noise_is_even_and_few_steps_must_differ_more() -> None:
    [finding] = cadence(noisy(0.4))
    assert "come unevenly: one differs from the next by 3" in finding.message
    assert finding.saving is None
    assert cadence(noisy(0.22, 4_000))
    assert not cadence(noisy(0.22, 17))
    for spread in (0.05, 0.1):
        assert not any(cadence(noisy(spread, 60, seed)) for seed in range(20)), spread


def test_a_cadence_with_one_change_a_drift_outliers_or_a_small_swing_is_even() -> None:
    for times in (
        [10 * MS] * 50,  # even
        [10 * MS] * 30 + [20 * MS] * 30,  # one change
        [10 * MS + step * 100_000 for step in range(200)],  # a drift
        [100 * MS if s in {20, 60} else 10 * MS for s in range(90)],  # outliers
        [10 * MS, 11 * MS] * 40,  # a small swing
    ):
        assert not cadence(times)


def loop(works: Sequence[float], names: Sequence[str] = (), more: int = 0) -> Stock:
    """Let an iteration have two encoders of so much work; from half of them on, some more."""
    stock = Stock()
    for place, (work, factor) in enumerate(zip(works, jitter(len(works), 0.01), strict=True)):
        late = place >= len(works) // 2
        name = names[late] if names else ""
        pieces = [work * factor] * (2 + more * late)
        stock.buffer(pieces, names=[name] if name else ())
        stock.run_ahead()
        stock.spend(100)
    return stock


def cliff(stock: Stock, **tables: pd.DataFrame) -> list[Finding]:
    given_tables = given(**{**stock.tables(), **tables})
    return list(inject(RULES["performance-cliff"].judge, given_tables))


RISES = [2_000] * 30 + [3_000] * 30


def test_a_level_that_rises_at_once_and_stays_is_a_note(golden: Golden) -> None:
    # Work runs an iteration after it was handed over; 30 iterations take 2 ms longer.
    kernel_findings = cliff(loop(RISES, ["affine_qmv_fast", "affine_qmm_t"]))
    golden(*kernel_findings, *cliff(loop(RISES, ["gemm", "gemm"])), *cliff(loop(RISES)))


def test_drifts_and_turns_are_not_a_cliff() -> None:
    for works in (
        [2_000] * 60,
        [2_000] * 30 + [2_400] * 30,  # less than a quarter
        [2_000 + 50 * place for place in range(60)],  # a drift
        [3_000] * 30 + [2_000] * 30,  # it became faster
        [2_000] * 53 + [3_000] * 7,  # too short to be a level
        [2_000, 3_000] * 30,
    ):
        assert not cliff(loop(works)), works


@pytest.mark.parametrize(("more", "number"), [(2, 1), (3, 0)])
def test_far_more_pieces_are_other_work(more: int, number: int) -> None:
    stock = loop([2_000] * 60, more=more)
    begins = pd.Series([row["start"] for row in stock.rows["submissions"]])
    steps = pd.DataFrame({"start": begins, "duration": begins.diff().shift(-1).fillna(4e6)})
    steps = steps.astype({"duration": "Int64"}).assign(phase="steady", variant="", tokens=1)
    window = table("name start duration", ("steady", begins[0], stock.done * 1e3), unit=1)
    assert len(cliff(stock, steps=steps, phases=window)) == number


def test_a_lower_clock_or_another_process_explains_a_rise() -> None:
    stock = loop(RISES)
    half = stock.done / 2
    stock.add("gpu_performance_states", 0, half, state="Maximum", induced=True)
    stock.add("gpu_performance_states", half, half, state="Medium", induced=True)
    assert not cliff(stock)
    stock = loop(RISES)
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Fragment", "label": "x"}
    stock.add("gpu_intervals", half, half / 2, **cells)
    assert not cliff(stock)
    stock.add("gpu_intervals", 0, half / 2, **cells)  # as much before it
    assert cliff(stock)


def waiting(stock: Stock) -> Stock:
    for _ in range(20):
        stock.buffer([2_000])
        stock.wait()
        stock.spend(500)
    return stock


def notes(stock: Stock) -> list[Finding]:
    findings = list(inject(RULES["left-out-time"].judge, given(**stock.tables())))
    assert all(finding.severity is Severity.NOTE for finding in findings)
    return findings


def allocating(gibibytes: int, host_time: float) -> Stock:
    stock = Stock()
    cells = {"event": "Allocation", "size": gibibytes << 30, "type": "Buffer"}
    stock.add("resource_allocations", stock.host_time, **cells)
    stock.spend(host_time)
    return stock


def test_the_load_before_a_loop_and_long_pauses_are_left_out(golden: Golden) -> None:
    assert not notes(waiting(Stock()))
    # What the first iteration allocates before it encodes is no load.
    assert not notes(waiting(allocating(9, host_time=500)))
    stock = Stock()
    stock.add("compiler_activity", stock.host_time, 200_000, compiler="x", program="Compute")
    stock.spend(200_000)
    stock.rows |= allocating(3, host_time=0).rows
    stock.add(
        "resource_allocations", stock.host_time, event="Deallocation", size=1 << 40, type="Buffer"
    )
    label = "Wire  3.00 GiB   System Memory"
    stock.add("driver_events", stock.host_time, 90_000, event="Wire Memory", label=label)
    stock.buffer([40_000])
    stock.wait()
    stock.spend(100_000)
    loaded = notes(waiting(stock))
    # A pause counts from a quarter of a second on.
    paused: list[Finding] = []
    for pause, number in ((240_000, 0), (350_000, 1)):
        stock = waiting(Stock())
        stock.spend(pause)
        paused += notes(waiting(stock))
        assert len(paused) == number
    golden(*notes(waiting(allocating(9, host_time=1_500))), *loaded, *paused)


def test_a_pause_with_a_running_program_is_not_a_pause() -> None:
    for is_target in (True, False):
        stock = waiting(Stock())
        for time in range(0, 400_000, 1_000):
            stock.add(
                "cpu_profile",
                stock.host_time + time,
                weight=1_000_000,
                leaf="collect",
                target=is_target,
            )
        stock.spend(400_000)
        assert bool(notes(waiting(stock))) != is_target


def test_only_a_compilation_that_may_be_for_the_target_ends_a_pause() -> None:
    for process, is_target, is_pause in (
        ("python3", True, False),
        ("MTLCompilerService", False, False),  # its client is unknown
        ("WindowServer", False, True),
    ):
        stock = waiting(Stock())
        cells = {"compiler": "x", "program": "Compute", "process": process, "target": is_target}
        stock.add("compiler_activity", stock.host_time + 350_000, 300_000, **cells)
        stock.spend(1_000_000)
        assert any("paused" in note.wording for note in notes(waiting(stock))) == is_pause, process


def test_steps_of_a_workload_name_their_parts_and_without_a_loop_it_abstains() -> None:
    steps = row_of_steps([1_000] * 9)
    assert not judge_tables("left-out-time", gpu_intervals=intervals([(0, 9_000)]), steps=steps)
    sent = frame([{"start": 0, "duration": 1, "target": True, "command_buffer": 5}])
    with pytest.raises(Unavailable, match="no repeating structure"):
        judge_tables("left-out-time", gpu_intervals=intervals([(0, 5)]), submissions=sent)


Spans = list[tuple[str, int, int]]
Asked = list[tuple[int, int | None, int | None]]
DECODES: Spans = [("decode", time, 5) for time in (20, 25, 60, 65, 70, 75, 80, 85, 90, 95)]
ASKED: Asked = [(0, 20, 100)]


def judge_prefills(spans: Spans, request_times: Asked = ASKED, **limits: float) -> list[Finding]:
    """Judge spans and requests of (start, first token, last token); times in ms."""
    requests = table("start first_token last_token", *request_times)
    tables = {"spans": table("name start duration", *spans), "requests": requests}
    return judge_tables("serial-prefill", limits, phases=phases(0, 100 * MS), **tables)


def test_a_prompt_that_stops_the_others_is_found(golden: Golden) -> None:
    spans = [("prefill", 5, 15), *DECODES, ("prefill", 30, 30)]
    golden(*judge_prefills(spans, [*ASKED, (10, None, None)]))  # 30 of the 80 ms from 20 on


def test_a_prompt_alone_or_in_short_pieces_delays_nobody() -> None:
    for prefills, limits, is_found in (
        ([("prefill", 5, 15)], {}, False),  # alone
        ([("prefill", 60, 30)], {}, False),  # beside decodes
        ([("prefill", 30, 10), ("prefill", 45, 10)], {}, False),  # in short pieces
        ([("prefill", 30, 30), ("decode", 98, 155)], {}, True),  # longer than most decodes
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0}, True),
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0, "limit": 0.5}, False),
    ):
        assert bool(judge_prefills([*DECODES, *prefills], **limits)) == is_found
    with pytest.raises(Unavailable, match="named prefill and decode"):
        judge_prefills([("allocate", 0, 5)])
    with pytest.raises(Unavailable, match="more than one token"):
        judge_prefills([("prefill", 5, 15), *DECODES], [(0, 20, 20), (5, None, None)])


def test_work_that_went_is_named_by_its_time_before_the_border() -> None:
    codes = np.array([0, 1, 1, 2], np.int64)
    starts = np.array([0, 10, 20, 100], np.int64)
    ends = np.array([4, 18, 29, 101], np.int64)
    launches = np.zeros(4, np.int64)
    work = NamedWork(starts, ends, launches, codes, ("short", "long", "new"))
    assert _compare_names(work, 50) == (("new",), ("long", "short"))
