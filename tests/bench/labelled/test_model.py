"""The model keeps to what any recording shows: order, one thing at a time, and all of the time."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from labelled.setup import MICROSECOND, MILLISECOND, Hold, Server
from small_trace import SETUP, STEP, Make

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
SLOWLY_ENCODED = tuple(replace(one, encode=round(1.3 * one.work)) for one in SETUP.pieces)
every_sort = pytest.mark.parametrize("changes", SORTS.values(), ids=SORTS)


@every_sort
def test_a_channel_does_one_thing_at_a_time(made: Make, changes: dict[str, Any]) -> None:
    world = made(**changes).world
    for channel in ("Compute", "Vertex", "Fragment"):
        on = [one for one in world.intervals + world.others if one.channel == channel]
        assert len(on) > 10
        assert all(before.end <= one.start for before, one in pairwise(sorted(on)))


@every_sort
def test_work_comes_to_the_gpu_by_way_of_the_host_and_the_driver(
    made: Make, changes: dict[str, Any]
) -> None:
    world = made(**changes).world
    for one in world.intervals:
        assert one.committed < one.processed <= one.ready <= one.start - one.held
        assert one.start < one.end
    for one in world.buffers:
        assert one.created < one.committed < one.driver_start < one.driver_end
        assert one.driver_end <= one.gpu_start < one.gpu_end < one.completed
    starts = [one.driver_start for one in world.buffers]
    assert starts == sorted(starts)


@every_sort
def test_the_host_does_one_thing_at_a_time(made: Make, changes: dict[str, Any]) -> None:
    world = made(**changes).world
    assert all(before.end <= one.start for before, one in pairwise(world.host))
    assert all(before.completed <= one.start for before, one in pairwise(world.steps))
    assert [one.phase for one in world.steps] == ["warm-up"] * 3 + ["steady"] * 20


@every_sort
def test_causes_cover_just_the_gaps(made: Make, changes: dict[str, Any]) -> None:
    facts = made(**changes)
    begin, end = facts.world.steady
    assert all(before.end <= one.start for before, one in pairwise(facts.idle))
    inside = [(max(begin, one.start), min(end, one.end)) for one in facts.world.intervals]
    ran = sum(max(0, stop - start) for start, stop in inside)
    assert facts.idle_time() == end - begin - ran
    causes = {one.cause for one in facts.idle}
    assert sum(facts.idle_time(cause) for cause in causes) == facts.idle_time()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"ahead": 0, "late": 4 * MILLISECOND}, "after-wait"),
        ({"ahead": 0, "latency": 4 * MILLISECOND}, "late-start"),
        ({"ahead": 0, "driver": 4 * MILLISECOND}, "driver"),
        ({"ahead": 0, "wiring": 4 * MILLISECOND}, "wiring"),
        ({"ahead": 0, "completion": 4 * MILLISECOND}, "after-wait"),
        ({"ahead": 0, "compiles": ((5, 60 * MILLISECOND),)}, "compile"),
        ({"rival": Hold(12 * MILLISECOND, 4 * MILLISECOND)}, "other-process"),
        ({"hold": Hold(1, 4 * MILLISECOND)}, "late-start"),
        ({"hold": Hold(1, 4 * MILLISECOND), "per_buffer": 6}, "between-encoders"),
        ({"switch": 90 * MICROSECOND, "per_buffer": 1}, "between-buffers"),
        ({"pieces": SLOWLY_ENCODED}, "encoding"),
    ],
)
def test_a_fault_is_its_own_cause(made: Make, changes: dict[str, Any], cause: str) -> None:
    facts = made(**changes)
    assert facts.idle_time(cause) > 0.75 * facts.idle_time()
    assert facts.idle_share() > 0.05
    assert made().idle_share() < 0.02


def test_what_a_fault_costs_is_what_the_same_trace_takes_less_without_it(made: Make) -> None:
    late = made(ahead=0, late=2 * MILLISECOND).length - made(ahead=0).length
    assert late == pytest.approx(20 * 2 * MILLISECOND, rel=0.05)
    spiky = made(spikes=((4, 8 * MILLISECOND), (9, 8 * MILLISECOND))).length - made().length
    assert spiky == pytest.approx(16 * MILLISECOND, rel=0.05)
    slow = made(clock=(0.5, 1.0)).length - made().length
    assert slow == pytest.approx(20 * STEP, rel=0.05)


def test_a_fault_changes_nothing_but_its_consequences(made: Make) -> None:
    plain, late = made(ahead=0).world, made(ahead=0, late=2 * MILLISECOND).world
    assert [one.end - one.start for one in plain.intervals] == [
        one.end - one.start for one in late.intervals
    ]
    assert plain.intervals != late.intervals


def test_a_seed_makes_the_same_trace_again(made: Make) -> None:
    assert made().world == made().world
    assert made().world != made(seed=8).world


def test_work_that_the_host_hands_over_ahead_hides_the_host(made: Make) -> None:
    late = {"late": 2 * MILLISECOND}
    assert made(**late).idle_share() < 0.02
    assert made(ahead=0, **late).idle_share() > 0.15


def test_one_command_buffer_a_step_without_work_ahead_is_a_shallow_queue(made: Make) -> None:
    assert made(ahead=0, per_buffer=len(SETUP.pieces)).depth_at_most_one == 1
    assert made(ahead=0).depth_at_most_one < 0.5
    assert made().depth_at_most_one < 0.1
