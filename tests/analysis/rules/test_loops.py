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
    judged,
    phases,
    row_of_steps,
    table,
)
from stock import Stock, frame, jitter
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.rule import Finding, Severity, longest
from tracekit.analysis.rules import RULES
from tracekit.analysis.wording import put_into_words


def judge(
    rule: str,
    times: list[int],
    beside: pd.DataFrame = NO_HAPPENINGS,
    variants: Sequence[str] = ("",),
    **limits: float,
) -> list[Finding]:
    known = {"iterations": row_of_steps(times, variants), "happenings": beside}
    return [put_into_words(one) for one in inject(RULES[rule].judge, known, limits)]


def spikes(times: list[int], *beside: Any, **limits: float) -> list[Finding]:
    return judge("step-spikes", times, *beside, **limits)


def cadence(times: list[int], *beside: Any) -> list[Finding]:
    return judge("irregular-cadence", times, *beside)


def with_spikes(*places: int, times: int = 5, number: int = 100) -> list[int]:
    return [10 * MS * (times if place in places else 1) for place in range(number)]


def noisy(spread: float, number: int = 400, seed: int = 5) -> list[int]:
    random = np.random.default_rng(seed)
    return random.lognormal(np.log(10 * MS), spread, number).astype(np.int64).tolist()


def test_what_spikes_take_beyond_their_neighbours_is_the_saving(golden: Golden) -> None:
    # The cause stands at each spike, and compiles are not saved twice.
    compiled = table("start duration", (305, 30), target=True)
    beside = happenings(None, compiled, None, None, None, None, None, None)
    golden(*spikes(with_spikes(30, 60)), *spikes(with_spikes(30, 60), beside))


def test_what_lasts_longest_is_shown_first_with_its_note() -> None:
    shown = longest("steps", np.array([0, 10, 30]), np.array([5, 30, 35]), ("a", "b", "c"))
    assert [(one.start, one.note) for one in shown] == [(10, "b"), (0, "a"), (30, "c")]


def test_there_are_no_spikes_where_no_few_steps_stand_out_and_thresholds_can_be_set() -> None:
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
    once = with_spikes(30, number=1_000)
    assert spikes(once, limit=0.001)
    assert not spikes(once, limit=0.001, least_excess=5.0)


def test_each_variant_is_judged_by_itself() -> None:
    times, variants = [10 * MS, 60 * MS] * 50, ("paged", "sdpa")
    assert not judge("step-spikes", times, variants=variants)
    times[40] = 60 * MS
    [finding] = judge("step-spikes", times, variants=variants)
    assert "1 of 50 steps of paged takes far longer" in finding.message


def test_two_speeds_are_found_and_what_the_slow_one_costs(golden: Golden) -> None:
    turns = [10 * MS, 14 * MS] * 50 + [10 * MS]
    slow = row_of_steps(turns)["start"].to_numpy()[1::2]
    logged = pd.DataFrame({"start": slow, "duration": 3 * MS, "name": "log"})
    compiled = logged.assign(name="compile")
    explained = [
        happenings(None, None, None, None, None, each, None, None) for each in (logged, compiled)
    ]
    golden(*cadence(turns), *(one for beside in explained for one in cadence(turns, beside)))
    # They need not take turns evenly.
    assert not cadence([10 * MS] * 4 + [20 * MS] + [10 * MS] * 45)
    [found] = cadence(([10 * MS] * 4 + [20 * MS]) * 10 + [10 * MS])
    assert "20.0 % are slow" in found.message
    turns = [10 * MS, 15 * MS] * 40  # 50 times the hundredth of a step that no clock is better than
    for least, words in ((50.0, "swing between two speeds"), (50.01, "come unevenly")):
        [found] = judge("irregular-cadence", turns, least_separation=least)
        assert words in found.message


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
    made = Stock()
    for place, (work, factor) in enumerate(zip(works, jitter(len(works), 0.01), strict=True)):
        late = place >= len(works) // 2
        name = names[late] if names else ""
        pieces = [work * factor] * (2 + more * late)
        made.buffer(pieces, names=[name] if name else ())
        made.run_ahead()
        made.spend(100)
    return made


def cliff(made: Stock, **tables: pd.DataFrame) -> list[Finding]:
    known = given(**{**made.tables(), **tables})
    return list(inject(RULES["performance-cliff"].judge, known))


RISES = [2_000] * 30 + [3_000] * 30


def test_a_level_that_rises_at_once_and_stays_is_a_note(golden: Golden) -> None:
    # Work runs an iteration after it was handed over; 30 iterations take 2 ms longer.
    others = cliff(loop(RISES, ["affine_qmv_fast", "affine_qmm_t"]))
    golden(*others, *cliff(loop(RISES, ["gemm", "gemm"])), *cliff(loop(RISES)))


def test_drifts_and_turns_are_no_cliff() -> None:
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
    made = loop([2_000] * 60, more=more)
    begins = pd.Series([row["start"] for row in made.rows["submissions"]])
    steps = pd.DataFrame({"start": begins, "duration": begins.diff().shift(-1).fillna(4e6)})
    steps = steps.astype({"duration": "Int64"}).assign(phase="steady", variant="", tokens=1)
    window = table("name start duration", ("steady", begins[0], made.done * 1e3), unit=1)
    assert len(cliff(made, steps=steps, phases=window)) == number


def test_a_lower_clock_or_another_process_explains_a_rise() -> None:
    made = loop(RISES)
    half = made.done / 2
    made.add("gpu_performance_states", 0, half, state="Maximum", induced=True)
    made.add("gpu_performance_states", half, half, state="Medium", induced=True)
    assert not cliff(made)
    made = loop(RISES)
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Fragment", "label": "x"}
    made.add("gpu_intervals", half, half / 2, **cells)
    assert not cliff(made)
    made.add("gpu_intervals", 0, half / 2, **cells)  # as much before it
    assert cliff(made)


def waiting(made: Stock) -> Stock:
    for _ in range(20):
        made.buffer([2_000])
        made.wait()
        made.spend(500)
    return made


def notes(made: Stock) -> list[Finding]:
    found = list(inject(RULES["left-out-time"].judge, given(**made.tables())))
    assert all(one.severity is Severity.NOTE for one in found)
    return found


def allocating(gibibytes: int, spent: float) -> Stock:
    made = Stock()
    cells = {"event": "Allocation", "size": gibibytes << 30, "type": "Buffer"}
    made.add("resource_allocations", made.now, **cells)
    made.spend(spent)
    return made


def test_the_load_before_a_loop_and_long_pauses_are_left_out(golden: Golden) -> None:
    assert not notes(waiting(Stock()))
    # What the first iteration allocates before it encodes is no load.
    assert not notes(waiting(allocating(9, spent=500)))
    made = Stock()
    made.add("compiler_activity", made.now, 200_000, compiler="x", program="Compute")
    made.spend(200_000)
    made.rows |= allocating(3, spent=0).rows
    made.add("resource_allocations", made.now, event="Deallocation", size=1 << 40, type="Buffer")
    label = "Wire  3.00 GiB   System Memory"
    made.add("driver_events", made.now, 90_000, event="Wire Memory", label=label)
    made.buffer([40_000])
    made.wait()
    made.spend(100_000)
    loaded = notes(waiting(made))
    # A pause counts from a quarter of a second on.
    paused: list[Finding] = []
    for pause, number in ((240_000, 0), (350_000, 1)):
        made = waiting(Stock())
        made.spend(pause)
        paused += notes(waiting(made))
        assert len(paused) == number
    golden(*notes(waiting(allocating(9, spent=1_500))), *loaded, *paused)


def test_a_pause_in_which_the_program_ran_is_no_pause() -> None:
    for own in (True, False):
        made = waiting(Stock())
        for at in range(0, 400_000, 1_000):
            made.add("cpu_profile", made.now + at, weight=1_000_000, leaf="collect", target=own)
        made.spend(400_000)
        assert bool(notes(waiting(made))) != own


def test_steps_of_a_workload_say_what_belongs_to_them_and_without_a_loop_it_abstains() -> None:
    steps = row_of_steps([1_000] * 9)
    assert not judged("left-out-time", gpu_intervals=intervals([(0, 9_000)]), steps=steps)
    sent = frame([{"start": 0, "duration": 1, "target": True, "command_buffer": 5}])
    with pytest.raises(Unavailable, match="no repeating structure"):
        judged("left-out-time", gpu_intervals=intervals([(0, 5)]), submissions=sent)


Spans = list[tuple[str, int, int]]
Asked = list[tuple[int, int | None, int | None]]
DECODES: Spans = [("decode", at, 5) for at in (20, 25, 60, 65, 70, 75, 80, 85, 90, 95)]
ASKED: Asked = [(0, 20, 100)]


def prefilled(spans: Spans, asked: Asked = ASKED, **limits: float) -> list[Finding]:
    """Judge spans and requests of (start, first token, last token); times in ms."""
    requests = table("start first_token last_token", *asked)
    tables = {"spans": table("name start duration", *spans), "requests": requests}
    return judged("serial-prefill", limits, phases=phases(0, 100 * MS), **tables)


def test_a_prompt_that_stops_the_others_is_found(golden: Golden) -> None:
    spans = [("prefill", 5, 15), *DECODES, ("prefill", 30, 30)]
    golden(*prefilled(spans, [*ASKED, (10, None, None)]))  # 30 of the 80 ms from 20 on


def test_a_prompt_alone_beside_decodes_or_in_short_pieces_stops_nobody() -> None:
    for prefills, limits, found in (
        ([("prefill", 5, 15)], {}, False),  # alone
        ([("prefill", 60, 30)], {}, False),  # beside decodes
        ([("prefill", 30, 10), ("prefill", 45, 10)], {}, False),  # in short pieces
        ([("prefill", 30, 30), ("decode", 98, 155)], {}, True),  # longer than most decodes
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0}, True),
        ([("prefill", 30, 9), ("prefill", 45, 9)], {"stall": 1.0, "limit": 0.5}, False),
    ):
        assert bool(prefilled([*DECODES, *prefills], **limits)) == found
    with pytest.raises(Unavailable, match="named prefill and decode"):
        prefilled([("allocate", 0, 5)])
    with pytest.raises(Unavailable, match="more than one token"):
        prefilled([("prefill", 5, 15), *DECODES], [(0, 20, 20), (5, None, None)])
