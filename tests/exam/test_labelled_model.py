"""The model keeps to what any recording shows: order, one thing at a time, and all of the time.

It is drawn from machines, programs, clocks, counters, and chance.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from labelled.drawn import clean
from labelled.draws import Draws
from labelled.load import clock, weight
from labelled.setup import MICROSECOND, MILLISECOND, Hold, Server
from labelled.world import BROWSER, COMPOSITOR, RIVAL
from small_trace import SETUP, STEP, make_facts

SORTS: dict[str, dict[str, Any]] = {
    "ahead": {},
    "synchronous": {"ahead": 0},
    "readbacks": {"ahead": 0, "readbacks": 2},
    "rival": {"ahead": 0, "rival": Hold(20 * MILLISECOND, 3 * MILLISECOND)},
    "merged": {"merged": 0.5},
    "held": {"hold": Hold(2, 400 * MICROSECOND)},
    "compiling": {"ahead": 0, "compiles": ((4, 9 * MILLISECOND), (11, 3 * MILLISECOND))},
    "slow": {"clock": (0.5, 0.4)},
    "server": {"ahead": 0, "server": Server(5, 30 * MILLISECOND, alone=True)},
    "drained": {"drains": True},
    "varied": {"variants": (1.0, 1.6), "drift": 0.2, "hiccups": 0.3, "ramp": 2},
    "drawn beside": {"browser": 200 * MICROSECOND},
}
SLOWLY_ENCODED = tuple(replace(piece, encode=round(1.3 * piece.work)) for piece in SETUP.pieces)


@pytest.mark.parametrize("changes", SORTS.values(), ids=SORTS)
def test_one_thing_is_done_at_a_time_in_order_and_causes_cover_just_the_gaps(
    changes: dict[str, Any],
) -> None:
    facts = make_facts(**changes)
    world, (begin, end) = facts.world, facts.world.steady
    for channel in ("Compute", "Vertex", "Fragment"):
        on = [work for work in world.intervals + world.others if work.channel == channel]
        assert len(on) > 10, channel
        assert all(previous.end <= work.start for previous, work in pairwise(sorted(on))), channel
    for work in world.intervals:
        assert work.committed < work.processed <= work.ready <= work.start - work.held
        assert work.start < work.end
    for buffer in world.buffers:
        assert buffer.created < buffer.committed < buffer.driver_start < buffer.driver_end
        assert buffer.driver_end <= buffer.gpu_start < buffer.gpu_end < buffer.completed
    starts = [buffer.driver_start for buffer in world.buffers]
    assert starts == sorted(starts)
    assert all(previous.end <= did.start for previous, did in pairwise(world.host))
    assert all(previous.completed <= step.start for previous, step in pairwise(world.steps))
    assert [step.phase for step in world.steps] == ["warm-up"] * 3 + ["steady"] * 20
    assert all(previous.end <= gap.start for previous, gap in pairwise(facts.idle))
    busy_time = sum(max(0, min(end, work.end) - max(begin, work.start)) for work in world.intervals)
    assert facts.idle_time() == end - begin - busy_time
    causes = {gap.cause for gap in facts.idle}
    assert sum(facts.idle_time(cause) for cause in causes) == facts.idle_time()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"ahead": 0, "late": 4 * MILLISECOND}, "host"),
        ({"ahead": 0, "latency": 4 * MILLISECOND}, "start-latency"),
        ({"ahead": 0, "driver": 4 * MILLISECOND}, "driver"),
        ({"ahead": 0, "wiring": 4 * MILLISECOND}, "wiring"),
        ({"ahead": 0, "completion": 4 * MILLISECOND}, "way-back"),
        ({"ahead": 0, "compiles": ((5, 60 * MILLISECOND),)}, "compile"),
        ({"rival": Hold(12 * MILLISECOND, 4 * MILLISECOND)}, "other-process"),
        ({"hold": Hold(1, 4 * MILLISECOND)}, "late-start"),
        ({"hold": Hold(1, 4 * MILLISECOND), "per_buffer": 6}, "between-encoders"),
        ({"switch": 90 * MICROSECOND, "per_buffer": 1}, "between-buffers"),
        ({"pieces": SLOWLY_ENCODED}, "encoding"),
    ],
)
def test_a_fault_is_its_own_cause(changes: dict[str, Any], cause: str) -> None:
    facts = make_facts(**changes)
    assert facts.idle_time(cause) > 0.75 * facts.idle_time()
    assert facts.idle_share() > 0.05
    assert make_facts().idle_share() < 0.02


def test_a_faults_cost_is_the_difference_to_the_same_trace_without_it() -> None:
    late = make_facts(ahead=0, late=2 * MILLISECOND).length - make_facts(ahead=0).length
    assert late == pytest.approx(20 * 2 * MILLISECOND, rel=0.05)
    spiky = (
        make_facts(spikes=((4, 8 * MILLISECOND), (9, 8 * MILLISECOND))).length - make_facts().length
    )
    assert spiky == pytest.approx(16 * MILLISECOND, rel=0.05)
    slow = make_facts(clock=(0.5, 1.0)).length - make_facts().length
    assert slow == pytest.approx(20 * STEP, rel=0.05)


def test_a_seed_repeats_a_trace_and_a_fault_changes_only_its_effects() -> None:
    assert make_facts().world == make_facts().world != make_facts(seed=8).world
    plain_world, late = make_facts(ahead=0).world, make_facts(ahead=0, late=2 * MILLISECOND).world
    lengths = [
        [interval.end - interval.start for interval in world.intervals]
        for world in (plain_world, late)
    ]
    assert lengths[0] == lengths[1]
    assert plain_world.intervals != late.intervals


def test_a_clean_setup_has_nothing_that_a_fault_puts_in() -> None:
    for seed in range(40):
        setup = clean(seed)
        numbers = (setup.late, setup.readbacks, setup.leak, setup.allocations, setup.wiring)
        disturbances = (setup.compiles, setup.spikes, setup.rival, setup.hold, setup.server)
        assert not any((*numbers, *disturbances, setup.empty, setup.broken, setup.drifted)), seed
        assert (setup.overhead or 0) < 0.05, seed


def test_the_clock_is_low_in_the_middle_and_while_it_warms_up() -> None:
    setup = replace(SETUP, steps=10, clock=(0.5, 0.4), warm_up=3, ramp=2)
    ratios = [clock(setup, steady) for steady in range(-3, 10)]
    assert ratios == [0.45, 0.45, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 1, 1, 1]


def test_a_step_has_more_to_do_than_another() -> None:
    for changes, step, expected in (
        ({}, 5, 1.0),
        ({"swing": 0.2}, 4, 1.2),
        ({"swing": 0.2}, 5, 0.8),
        ({"variants": (1.0, 3.0)}, 4, 3.0),
        ({"drift": 0.5}, 13, 1.25),
        ({"spikes": ((2, STEP),)}, 5, 2.0),
        ({"spikes": ((2, STEP),), "swing": 0.4}, 1, 1.0),
    ):
        setup = replace(SETUP, uneven=0.0, warm_up=3, **changes)
        assert weight(setup, Draws(1, 30), step) == pytest.approx(expected)


def test_others_draw_and_compute_in_between() -> None:
    world = make_facts(browser=100 * MICROSECOND, rival=Hold(9 * MILLISECOND, MILLISECOND)).world
    drawn, computed = {"Vertex", "Fragment"}, {"Compute"}
    for owner, channels in ((COMPOSITOR, drawn), (BROWSER, drawn), (RIVAL, computed)):
        assert {work.channel for work in world.others if work.owner == owner} == channels, owner
    assert not make_facts(compositor=0).world.others


def test_spikes_are_counted_with_their_time() -> None:
    spikes = ((5, 2 * STEP), (9, 2 * STEP))
    many, excess = make_facts(spikes=spikes, variants=(1.0, 1.5), steps=40).spikes(1.6)
    assert many == pytest.approx(2 / 39)
    assert 0.05 < excess < 0.12
