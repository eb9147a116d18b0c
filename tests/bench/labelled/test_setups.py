"""What made traces are drawn from: machines, programs, clocks, counters, and chance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from labelled.counted import infos, samples
from labelled.drawn import VERSIONS, clean, program
from labelled.draws import Draws
from labelled.facts import Facts
from labelled.idle import Idle, idle_pieces
from labelled.load import clock, groups, merges, pieces, prefills, prompt, weight
from labelled.program import simulate
from labelled.setup import MACHINES, MICROSECOND, MILLISECOND, Counters, Hold, Piece, Server
from labelled.world import BROWSER, COMPOSITOR, RIVAL
from small_trace import SETUP, STEP, Make


def test_one_stream_of_chance_does_not_move_another() -> None:
    first, second = Draws(3, 10), Draws(3, 10)
    first.normal("host", 4, 2)
    assert first.normal("gpu", 4, 2) == second.normal("gpu", 4, 2)
    assert first.normal("gpu", 4, 2) != first.normal("gpu", 5, 2) != first.normal("host", 5, 2)
    assert Draws(4, 10).normal("gpu", 4, 2) != first.normal("gpu", 4, 2)


def test_times_are_drawn_around_their_mean() -> None:
    draws = Draws(1, 400)
    times = [draws.about("gpu", 10_000, 0.3, step) for step in range(400)]
    assert np.mean(times) == pytest.approx(10_000, rel=0.06)
    assert min(times) > 0
    assert draws.about("gpu", 0, 0.3, 1) == 0


def test_clean_setups_are_unlike_each_other() -> None:
    setups = [clean(seed) for seed in range(60)]
    assert {one.version for one in setups} == set(VERSIONS)
    assert {one.machine for one in setups} == set(MACHINES)
    for kind in ("ahead", "marks", "drains", "tells", "monitored"):
        assert {bool(getattr(one, kind)) for one in setups} == {False, True}, kind
    assert {one.counters is None for one in setups} == {False, True}
    assert len({one.steps for one in setups}) > 20
    assert clean(5) == clean(5)


def test_a_clean_setup_has_nothing_that_a_fault_puts_in() -> None:
    for seed in range(40):
        setup = clean(seed)
        faults = (setup.late, setup.readbacks, setup.leak, setup.allocations, setup.wiring)
        assert faults == (0,) * 5
        rest = (setup.compiles, setup.spikes, setup.rival, setup.hold, setup.server)
        assert not any(rest)
        assert not any((setup.empty, setup.broken, setup.drifted))
        assert (setup.overhead or 0) < 0.05


@pytest.mark.parametrize("named", [False, True])
def test_a_program_takes_as_long_as_is_asked_for(named: bool) -> None:
    kernels = program(np.random.default_rng(2), 9 * MILLISECOND, named=named)
    assert sum(one.work for one in kernels) == pytest.approx(9 * MILLISECOND, rel=0.01)
    assert any("RMSNorm" in one.label for one in kernels) is named
    assert any("Compute Command" in one.label for one in kernels)  # some are forgotten


def test_the_clock_is_low_in_the_middle_and_while_it_warms_up() -> None:
    setup = replace(SETUP, steps=10, clock=(0.5, 0.4), warm_up=3, ramp=2)
    ratios = [clock(setup, steady) for steady in range(-3, 10)]
    assert ratios == [0.45, 0.45, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "step", "expected"),
    [
        ({}, 5, 1.0),
        ({"swing": 0.2}, 4, 1.2),
        ({"swing": 0.2}, 5, 0.8),
        ({"variants": (1.0, 3.0)}, 4, 3.0),
        ({"drift": 0.5}, 13, 1.25),
        ({"spikes": ((2, STEP),)}, 5, 2.0),
        ({"spikes": ((2, STEP),), "swing": 0.4}, 1, 1.0),
    ],
)
def test_a_step_has_more_to_do_than_another(
    changes: dict[str, Any], step: int, expected: float
) -> None:
    setup = replace(SETUP, uneven=0.0, warm_up=3, **changes)
    assert weight(setup, Draws(1, 30), step) == pytest.approx(expected)


def test_kernels_are_put_into_command_buffers() -> None:
    kernels = [Piece(str(k), 70 * MICROSECOND) for k in range(7)]
    by_count = groups(replace(SETUP, per_buffer=3), kernels)
    assert [len(one) for one in by_count] == [3, 3, 1]
    by_work = groups(replace(SETUP, buffer_work=200 * MICROSECOND), kernels)
    assert [len(one) for one in by_work] == [3, 3, 1]
    assert [one for group in by_work for one in group] == kernels


def test_a_server_prefills_alone_or_beside() -> None:
    alone = replace(SETUP, server=Server(4, 18 * MILLISECOND, alone=True))
    beside = replace(SETUP, server=Server(4, 18 * MILLISECOND, alone=False))
    assert [step for step in range(10) if prefills(alone, step)] == [4, 8]
    assert not any(prefills(SETUP, step) for step in range(10))
    assert sum(one.work for one in prompt(alone)) == pytest.approx(18 * MILLISECOND, rel=0.01)
    assert pieces(alone, 4) == alone.pieces
    assert sum(one.work for one in pieces(beside, 4)) > STEP
    assert pieces(beside, 5) == beside.pieces


def test_the_driver_merges_as_often_as_it_should() -> None:
    draws = Draws(1, 500)
    merged = [merges(replace(SETUP, merged=0.3), draws, step, 0) for step in range(500)]
    assert np.mean(merged) == pytest.approx(0.3, abs=0.07)
    assert not any(merges(SETUP, draws, step, 0) for step in range(500))


def test_others_draw_beside_and_compute_in_between(made: Make) -> None:
    world = made(browser=100 * MICROSECOND, rival=Hold(9 * MILLISECOND, MILLISECOND)).world
    channels = {
        owner: {one.channel for one in world.others if one.owner == owner}
        for owner in (COMPOSITOR, BROWSER, RIVAL)
    }
    assert channels[COMPOSITOR] == channels[BROWSER] == {"Vertex", "Fragment"}
    assert channels[RIVAL] == {"Compute"}
    assert not made(compositor=0).world.others


def test_counters_bear_the_names_of_their_chip(made: Make) -> None:
    for machine, name in ((MACHINES[0], "Compute Occupancy"), (MACHINES[4], "Kernel Occupancy")):
        world = made(counters=Counters(), machine=machine).world
        names = [str(row[2]) for row in infos(world)]
        assert name in names
        assert {row[1] for row in samples(world)} == set(range(7, 7 + len(names)))
    only = made(counters=Counters(only_ray_tracing=True)).world
    assert [row[2] for row in infos(only)] == ["RT Unit Active"]
    assert list(samples(made().world)) == []


def test_short_gaps_are_idle_time_as_well(made: Make) -> None:
    facts = made(ahead=0)
    every = idle_pieces(facts.world)
    assert {type(one) for one in every} == {Idle}
    assert facts.idle_time() + facts.busy == facts.length
    assert sum(one.end - one.start for one in idle_pieces(facts.world, shortest=10_000)) < (
        facts.idle_time()
    )


def test_spikes_are_counted_with_what_they_take() -> None:
    setup = replace(SETUP, spikes=((5, 2 * STEP), (9, 2 * STEP)), variants=(1.0, 1.5), steps=40)
    many, excess = Facts(simulate(setup)).spikes(1.6)
    assert many == pytest.approx(2 / 39)
    assert 0.05 < excess < 0.12


def test_few_times_of_a_host_are_far_longer() -> None:
    draws = Draws(1, 4_000)
    times = np.array([draws.rough("driver", 13_000, 0.1, step) for step in range(4_000)])
    half, most, longest = np.percentile(times, (50, 99, 100))
    assert half == pytest.approx(13_000, rel=0.05)
    assert 2 * half < most < 10 * half
    assert 20 * half < longest < 3_100_000
    assert draws.rough("driver", 0, 0.1, 3) == 0


def test_a_browser_computes_now_and_then(made: Make) -> None:
    world = made(visitor=41 * MICROSECOND).world
    visits = [one for one in world.others if one.owner == BROWSER and one.channel == "Compute"]
    assert len(visits) == pytest.approx(world.end / 1e9 * 15, abs=3)
    assert all(20_000 < one.end - one.start < 80_000 for one in visits)


def test_frames_are_drawn_in_bursts_or_not_at_all(made: Make) -> None:
    world = made(compositor=200 * MICROSECOND).world
    drawn = [one.start for one in world.others if one.channel == "Fragment"]
    frames = np.bincount(np.array(drawn) * 60 // 1_000_000_000)
    assert frames.min() == 0
    assert frames.max() > 1
