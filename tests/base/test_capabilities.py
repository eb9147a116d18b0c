"""What a machine has shown to work, and what follows for the next recording."""

from tracekit.base.capabilities import Combination

GOOD = {"rows": 150, "others": 3, "dispatches": 150}


def test_a_way_works_if_it_has_rows_and_the_counters_that_were_asked_for() -> None:
    assert Combination("launch", counters=False, **GOOD).works
    assert Combination("launch", counters=True, counter_rows=9, **GOOD).works
    assert not Combination("launch", counters=True, counter_rows=0, **GOOD).works
    assert not Combination("launch", counters=True, **GOOD).works
    assert not Combination("launch", counters=False, rows=0).works
    assert not Combination("launch", counters=False).works
    assert not Combination("launch", counters=False, failure="It hung.", **GOOD).works
