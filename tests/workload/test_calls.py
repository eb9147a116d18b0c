"""Calls of MLX as steps, turns of two variants, and what is said of them."""

import mlx.core as mx
import pytest

from tracekit.base.errors import InputError
from tracekit.ops.kernels import CallTraffic
from tracekit.workload.calls import Order, Turns, Variant, compare_variants, step_of
from tracekit.workload.workload import Measured, Work, normalize_results

A = Variant("new", lambda: "a", Work(tokens=4, flops=7))
B = Variant("old", lambda: "b", Work(tokens=9))


def test_a_step_describes_its_call_and_makes_it_each_time() -> None:
    calls: list[int] = []

    def attend() -> mx.array:
        calls.append(1)
        return mx.array([1.0, 2.0]) * len(calls)

    cost = CallTraffic(read=40, unique=30, written=20, flops=10)
    work = cost.work(4, dispatches=2)
    assert work == Work(4, 40, 30, 20, 10, 2)
    assert (cost.work(4).dispatches, cost.intensity) == (None, 10 / 50)
    step = step_of(attend, work, results={"max_error": 0.5})
    assert vars(work).items() <= vars(step).items()
    assert (step.results, calls) == ({"max_error": 0.5}, [])
    outs = [step.submit(), step.submit()]
    step.wait(outs)
    assert [output.tolist() for output in outs] == [[1.0, 2.0], [2.0, 4.0]]


@pytest.mark.parametrize(("order", "made"), [("abba", "abbaabbaab"), ("abab", "ababababab")])
def test_turns_follow_the_order_and_steady_ones_begin_again(order: Order, made: str) -> None:
    turns = Turns(A, B, order, lambda _: None)

    def step() -> str:
        turns.wait(letter := turns.submit())
        report = turns.tell()
        assert (report.variant, report.tokens) == {"a": ("new", 4), "b": ("old", 9)}[letter]
        return letter

    assert [step() for _ in range(3)] == list(made[:3])
    turns.begin()
    assert [step() for _ in made] == list(made)
    assert len(turns.timed) == 10


def test_a_step_that_fails_is_nobodys() -> None:
    def fail(_: object) -> None:
        raise InputError("broken")

    turns = Turns(A, B, "abba", fail)
    with pytest.raises(InputError, match="broken"):
        turns.wait(turns.submit())
    assert turns.timed == []


def test_verdicts_on_literal_times() -> None:
    # new, old, old, new: pairs 20/10, 30/20, 60/30, 30/10, 50/20, 40/10; an odd step is left over
    new, old = (10, 20, 30, 10, 20, 10), (20, 30, 60, 30, 50, 40)
    timed = []
    for number, (ours, theirs) in enumerate(zip(new, old, strict=True)):
        pair = [("new", ours * 1_000_000), ("old", theirs * 1_000_000)]
        timed += pair if number % 2 == 0 else pair[::-1]
    measurements = normalize_results(compare_variants([*timed, ("new", 990_000_000)], A, B))
    assert measurements["speedup"].value == pytest.approx((2 + 2.5) / 2)
    assert (measurements["speedup_low_95"].value, measurements["speedup_high_95"].value) == (
        1.5,
        4.0,
    )
    assert measurements["pairs"] == Measured(6, "count")
    assert measurements["step_time_old"] == Measured(35_000_000, "ns", "lower")
    assert measurements["tokens_per_second_old"].value == pytest.approx(9 * 6 / 0.230)
    assert measurements["tokens_per_second_new"].value == pytest.approx(4 * 7 / 1.090)
    assert [
        measurement.better for name, measurement in measurements.items() if "speedup" in name
    ] == ["higher"] * 3


def test_too_few_pairs_have_no_interval_and_say_so() -> None:
    measurements = normalize_results(
        compare_variants([("new", 10), ("old", 30), ("old", 30), ("new", 10)], A, B)
    )
    assert measurements["speedup"] == Measured(3.0, "x", "higher")
    for end in ("low", "high"):
        reason = "an interval needs 6 pairs of steps, and there were 2"
        assert measurements[f"speedup_{end}_95"] == Measured(None, "x", "higher", reason), end
    measurements = normalize_results(compare_variants([("new", 5)], A, B))
    assert measurements["speedup"] == Measured(None, "x", "higher", "there was no pair of steps")
    assert measurements["step_time_old"].reason == "the steady phase had no step of old"
    assert (measurements["tokens_per_second_old"].value, measurements["pairs"].value) == (None, 0)
    without = compare_variants([("new", 5), ("mute", 5)], A, Variant("mute", lambda: "", Work()))
    assert "tokens_per_second_mute" not in without
