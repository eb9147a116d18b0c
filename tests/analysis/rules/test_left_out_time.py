"""`left-out-time`: what is no part of the loop is said, and is no warning."""

import pytest

from analysed import intervals, judged, row_of_steps
from stock import Stock, frame
from tracekit.analysis import RULES, Given, Severity, inject
from tracekit.analysis.inject import Unavailable
from tracekit.base import Process, Provenance


def loop(made: Stock, number: int = 20, rest: float = 500) -> Stock:
    for _ in range(number):
        made.buffer([2_000])
        made.wait()
        made.spend(rest)
    return made


def notes(made: Stock) -> list[str]:
    known = Given(made.tables(), Provenance(targets=(Process(4711, "python3"),)))
    found = list(inject(RULES["left-out-time"].judge, known))
    assert all(one.severity is Severity.NOTE for one in found)
    return [one.message for one in found]


def test_a_loop_alone_leaves_nothing_out() -> None:
    assert not notes(loop(Stock()))


def test_what_the_first_iteration_allocates_before_it_encodes_is_no_load() -> None:
    made = Stock()
    made.add("resource_allocations", made.now, event="Allocation", size=9 << 30, type="Buffer")
    made.spend(500)
    assert not notes(loop(made))
    made = Stock()
    made.add("resource_allocations", made.now, event="Allocation", size=9 << 30, type="Buffer")
    made.spend(1_500)
    [said] = notes(loop(made))
    assert "within 1.5" in said


def test_the_load_before_the_loop_is_named() -> None:
    made = Stock()
    made.add("compiler_activity", made.now, 200_000, compiler="x", program="Compute")
    made.spend(200_000)
    made.add("resource_allocations", made.now, event="Allocation", size=3 << 30, type="Buffer")
    label = "Wire  3.00 GiB   System Memory"
    made.add("driver_events", made.now, 90_000, event="Wire Memory", label=label)
    made.buffer([40_000])
    made.wait()
    made.spend(100_000)
    [said] = notes(loop(made))
    for part in ("compiled for 200 ms", "3 GiB were allocated", "wired for 90 ms", "for 40 ms"):
        assert part in said


@pytest.mark.parametrize(("pause", "left_out"), [(250_000, 0), (350_000, 1)])
def test_a_pause_counts_from_a_third_of_a_second_on(pause: float, left_out: int) -> None:
    made = loop(Stock())
    made.spend(pause)
    found = notes(loop(made))
    assert len(found) == left_out
    assert all("nobody asked" in said for said in found)


def test_a_pause_in_which_the_program_ran_is_no_pause() -> None:
    made = loop(Stock())
    for at in range(0, 400_000, 1_000):
        made.add("cpu_profile", made.now + at, weight=1_000_000, leaf="gc_collect")
    made.spend(400_000)
    assert not notes(loop(made))


def test_steps_of_a_workload_say_themselves_what_belongs_to_them() -> None:
    steps = row_of_steps([1_000] * 9)
    assert not judged("left-out-time", gpu_intervals=intervals([(0, 9_000)]), steps=steps)


def test_it_abstains_without_a_loop() -> None:
    sent = frame([{"start": 0, "duration": 1, "target": True, "command_buffer": 5}])
    with pytest.raises(Unavailable, match="no repeating structure"):
        judged("left-out-time", gpu_intervals=intervals([(0, 5)]), submissions=sent)
