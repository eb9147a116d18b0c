"""RMSNorm and the linear layer after it: fused, compiled together, one after the other."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import mlx.core as mx

from tracekit.lab.bench.inputs import Inputs
from tracekit.lab.bench.subject import Launched, Prepared, Subject, Unavailable
from tracekit.ops.norm.metal import fused_kernel, kernel_traffic
from tracekit.ops.norm.ops import compiled, separate
from tracekit.ops.norm.problem import Problem, draw_problem
from tracekit.ops.norm.reference import error_of
from tracekit.ops.norm.traffic import separate_traffic
from tracekit.ops.traffic import Traffic
from tracekit.workload.calls import backend, step_of


def fused(inputs: Inputs, *, device: str | None = None) -> Prepared:
    """Do both in one kernel; `device` is where MLX runs if it is not to be asked."""
    if (device or backend()) != "metal":
        raise Unavailable("it is a Metal kernel, and MLX finds no Metal on this machine")
    problems = _problems(inputs)
    made = _prepared(problems, fused_kernel, kernel_traffic(problems[0]))
    return replace(
        made,
        launched=Launched("rmsnorm_linear"),
        launch=lambda number: fused_kernel(problems[number]),
    )


def _by_ops(inputs: Inputs, op: Callable[[Problem], mx.array]) -> Prepared:
    shape = inputs.shape
    cost = separate_traffic(shape.rows, shape.dims, shape.out_dims, itemsize=shape.itemsize)
    return _prepared(_problems(inputs), op, cost)


def _problems(inputs: Inputs) -> tuple[Problem, ...]:
    shape = inputs.shape
    size = (shape.rows + shape.out_dims) * shape.dims * shape.itemsize
    return tuple(
        draw_problem(
            shape.rows,
            shape.dims,
            shape.out_dims,
            dtype=inputs.dtype,
            seed=shape.seed + number,
        )
        for number in range(inputs.sets_of(size, copies=3))
    )


def _prepared(
    problems: tuple[Problem, ...], op: Callable[[Problem], mx.array], cost: Traffic
) -> Prepared:
    turn, first = itertools.cycle(problems), problems[0]

    def chain(calls: int) -> list[mx.array]:
        outs: list[mx.array] = []
        for _ in range(calls):
            problem = next(turn)
            if outs and first.dims == first.outputs:
                problem = replace(problem, x=outs.pop())
            outs.append(op(problem))
        return outs

    return Prepared(
        step=step_of(lambda: op(next(turn)), cost.work(first.rows)),
        chain=chain,
        working_set=len(problems) * cost.unique,
        sets=len(problems),
        sequence=first.rows,
        error=error_of(first, op(first)),
        chained=first.dims == first.outputs,
    )


NORM = (
    Subject("norm-fused", "norm", "norm", "RMSNorm and Linear in one kernel", fused),
    Subject(
        "norm-compiled",
        "norm",
        "norm",
        "both in one function of mx.compile",
        lambda inputs: _by_ops(inputs, compiled),
    ),
    Subject(
        "norm-separate",
        "norm",
        "norm",
        "one after the other, as layers of mlx.nn are",
        lambda inputs: _by_ops(inputs, separate),
        naive=True,
    ),
)
