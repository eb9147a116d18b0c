"""Calls of MLX as steps."""

import mlx.core as mx

from tracekit.ops.kernels import Traffic
from tracekit.workload.calls import step_of, submitting
from tracekit.workload.workload import Work

WORK = Work(
    tokens=4, bytes_read=40, bytes_unique=30, bytes_written=20, flops=10, dispatches=2
)  # fmt: skip


def test_what_a_call_moves_is_the_work_of_its_step() -> None:
    cost = Traffic(read=40, unique=30, written=20, flops=10)
    assert cost.work(4, dispatches=2) == WORK
    assert cost.work(4).dispatches is None
    assert cost.intensity == 10 / 50


def test_a_step_says_what_its_call_does() -> None:
    step = step_of(lambda: mx.ones(3), WORK, results={"max_error": 0.5})
    assert (step.tokens, step.bytes_read, step.bytes_unique, step.flops) == (4, 40, 30, 10)
    assert (step.bytes_written, step.dispatches) == (20, 2)
    assert step.results == {"max_error": 0.5}
    out = step.submit()
    step.wait(out)
    assert out.tolist() == [1.0, 1.0, 1.0]


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
