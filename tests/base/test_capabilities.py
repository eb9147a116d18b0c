"""What a machine has shown to work, and what follows for the next recording."""

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity, Mode, advise

GOOD = {"rows": 150, "others": 3, "dispatches": 150}


def matrix(*combinations: Combination) -> Capabilities:
    return Capabilities(Identity("25D2128", "17C529", "Apple M1"), "2026-11-20", combinations)


def test_a_way_works_if_it_has_rows_and_the_counters_that_were_asked_for() -> None:
    assert Combination("launch", counters=False, **GOOD).works
    assert Combination("launch", counters=True, counter_rows=9, **GOOD).works
    assert not Combination("launch", counters=True, counter_rows=0, **GOOD).works
    assert not Combination("launch", counters=True, **GOOD).works
    assert not Combination("launch", counters=False, rows=0).works
    assert not Combination("launch", counters=False).works
    assert not Combination("launch", counters=False, failure="It hung.", **GOOD).works


def test_ways_are_found_by_mode_and_counters() -> None:
    attached = Combination("attach", counters=True, **GOOD)
    known = matrix(Combination("attach", counters=False), attached)
    assert known.combination("attach", counters=True) is attached
    assert known.combination("launch", counters=True) is None
    assert attached.name == "attach, with counters"


L, LC, A, AC = ("launch", False), ("launch", True), ("attach", False), ("attach", True)


@pytest.mark.parametrize(
    ("working", "counters", "mode", "given"),
    [
        pytest.param({L, LC, A, AC}, False, "launch", False, id="all"),
        pytest.param({L, LC, A, AC}, True, "launch", True, id="all-with-counters"),
        pytest.param({A, AC}, False, "attach", False, id="only-attach"),
        pytest.param({L, A, AC}, True, "attach", True, id="counters-only-by-attach"),
        pytest.param({L, A}, True, "launch", False, id="no-counters"),
        pytest.param({A}, True, "attach", False, id="attach-without-counters"),
        pytest.param(set(), True, "launch", False, id="nothing"),
    ],
)
def test_the_way_that_worked_is_advised(
    working: set[tuple[Mode, bool]], counters: bool, mode: Mode, given: bool
) -> None:
    ways = [
        Combination(way, counters=with_counters, rows=5, counter_rows=5)
        for way, with_counters in sorted(working)
    ]
    advice = advise(matrix(*ways), counters=counters)
    assert (advice.mode, advice.counters) == (mode, given)
    assert "2026-11-20" in advice.reason


def test_a_machine_that_was_never_probed_is_given_no_reason_to_doubt() -> None:
    advice = advise(None, counters=True)
    assert (advice.mode, advice.counters) == ("launch", True)
    assert "never probed" in advice.reason


def test_counters_that_never_came_are_said() -> None:
    advice = advise(matrix(Combination("launch", counters=False, **GOOD)), counters=True)
    assert "GPU counters gave none" in advice.reason
