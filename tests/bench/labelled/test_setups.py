"""What made traces are drawn from: machines, programs, clocks, counters, and chance."""

from dataclasses import replace
from typing import Any

import pytest

from labelled.drawn import clean
from labelled.draws import Draws
from labelled.facts import Facts
from labelled.load import clock, weight
from labelled.program import simulate
from labelled.setup import MICROSECOND, MILLISECOND, Hold
from labelled.world import BROWSER, COMPOSITOR, RIVAL
from small_trace import SETUP, STEP, Make


def test_a_clean_setup_has_nothing_that_a_fault_puts_in() -> None:
    for seed in range(40):
        setup = clean(seed)
        faults = (setup.late, setup.readbacks, setup.leak, setup.allocations, setup.wiring)
        assert faults == (0,) * 5
        rest = (setup.compiles, setup.spikes, setup.rival, setup.hold, setup.server)
        assert not any(rest)
        assert not any((setup.empty, setup.broken, setup.drifted))
        assert (setup.overhead or 0) < 0.05


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


def test_others_draw_beside_and_compute_in_between(made: Make) -> None:
    world = made(browser=100 * MICROSECOND, rival=Hold(9 * MILLISECOND, MILLISECOND)).world
    channels = {
        owner: {one.channel for one in world.others if one.owner == owner}
        for owner in (COMPOSITOR, BROWSER, RIVAL)
    }
    assert channels[COMPOSITOR] == channels[BROWSER] == {"Vertex", "Fragment"}
    assert channels[RIVAL] == {"Compute"}
    assert not made(compositor=0).world.others


def test_spikes_are_counted_with_what_they_take() -> None:
    setup = replace(SETUP, spikes=((5, 2 * STEP), (9, 2 * STEP)), variants=(1.0, 1.5), steps=40)
    many, excess = Facts(simulate(setup)).spikes(1.6)
    assert many == pytest.approx(2 / 39)
    assert 0.05 < excess < 0.12
