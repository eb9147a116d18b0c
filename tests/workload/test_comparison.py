"""Turns of two variants, and what is said of them."""

from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.workload.calls import Order, Turns, Variant, compared
from tracekit.workload.workload import Measured, Work, measured

A = Variant("new", lambda: "a", Work(tokens=4, flops=7))
B = Variant("old", lambda: "b", Work(tokens=4, flops=9))


def turns(order: Order = "abba") -> Turns:
    return Turns(A, B, order, lambda _: None)


def steps(count: int, of: Turns) -> str:
    made: list[Any] = []
    for _ in range(count):
        made.append(of.submit())
        of.wait(made[-1])
    return "".join(made)


@pytest.mark.parametrize(("order", "made"), [("abba", "abbaabbaab"), ("abab", "ababababab")])
def test_turns_follow_the_order_and_steady_ones_begin_anew(order: Order, made: str) -> None:
    of = turns(order)
    assert steps(3, of) == made[:3]
    of.begin()
    assert steps(10, of) == made
    assert len(of.timed) == 10


def test_a_step_says_whose_it_was_and_what_it_produced() -> None:
    other = Variant("old", lambda: "b", Work(tokens=9))
    of = Turns(A, other, "abba", lambda _: None)
    told = []
    for _ in range(3):
        of.wait(of.submit())
        told.append((of.tell().variant, of.tell().tokens))
    assert told == [("new", 4), ("old", 9), ("old", 9)]


def test_a_step_that_fails_is_nobodys() -> None:
    def fail(_: object) -> None:
        raise InputError("broken")

    of = Turns(A, B, "abba", fail)
    with pytest.raises(InputError, match="broken"):
        of.wait(of.submit())
    assert of.timed == []


def test_what_is_said_of_literal_times() -> None:
    # new, old, old, new: pairs 20/10, 30/20, 60/30, 30/10, 50/20, 40/10; an odd step is left over
    new, old = (10, 20, 30, 10, 20, 10), (20, 30, 60, 30, 50, 40)
    timed = []
    for number, (one, other) in enumerate(zip(new, old, strict=True)):
        pair = [("new", one * 1_000_000), ("old", other * 1_000_000)]
        timed += pair if number % 2 == 0 else pair[::-1]
    said = measured(compared([*timed, ("new", 990_000_000)], A, B))
    assert said["speedup"].value == pytest.approx((2 + 2.5) / 2)
    assert (said["speedup_low_95"].value, said["speedup_high_95"].value) == (1.5, 4.0)
    assert said["pairs"] == Measured(6, "count")
    assert said["step_time_old"] == Measured(35_000_000, "ns", "lower")
    assert said["tokens_per_second_old"].value == pytest.approx(4 * 6 / 0.230)
    assert said["tokens_per_second_new"].value == pytest.approx(4 * 7 / 1.090)
    assert [one.better for name, one in said.items() if "speedup" in name] == ["higher"] * 3


def test_too_few_pairs_have_no_interval_and_say_so() -> None:
    said = measured(compared([("new", 10), ("old", 30), ("old", 30), ("new", 10)], A, B))
    assert said["speedup"] == Measured(3.0, "x", "higher")
    for end in ("low", "high"):
        one = said[f"speedup_{end}_95"]
        assert one.value is None
        assert one.reason == "an interval needs 6 pairs of steps, and there were 2"


def test_without_a_pair_there_is_no_speedup() -> None:
    said = measured(compared([("new", 5)], A, B))
    assert said["speedup"] == Measured(None, "x", "higher", "there was no pair of steps")
    assert said["step_time_old"].reason == "the steady phase had no step of old"
    assert said["tokens_per_second_old"].value is None
    assert said["pairs"].value == 0
