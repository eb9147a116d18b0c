"""Calls of attention as steps."""

import mlx.core as mx

from tracekit.attention.contender import contender, submitting
from tracekit.attention.traffic import Traffic
from tracekit.told import Work

MODEL = Traffic(read=40, unique=30, written=20, flops=10)


def test_what_a_contender_does_is_its_model() -> None:
    one = contender("paged", lambda: mx.zeros(1), MODEL, tokens=4, dispatches=2)
    assert one.name == "paged"
    assert one.work == Work(
        tokens=4, bytes_read=40, bytes_unique=30, bytes_written=20, flops=10, dispatches=2
    )


def test_dispatches_are_not_known_unless_they_are_told() -> None:
    assert contender("sdpa", lambda: mx.zeros(1), MODEL, tokens=1).work.dispatches is None


def test_a_call_is_made_anew_for_each_step() -> None:
    calls: list[int] = []

    def attend() -> mx.array:
        calls.append(len(calls))
        return mx.array([1.0, 2.0]) * len(calls)

    submit = submitting(attend)
    assert calls == []
    outs = [submit(), submit()]
    mx.eval(outs)
    assert [out.tolist() for out in outs] == [[1.0, 2.0], [2.0, 4.0]]
