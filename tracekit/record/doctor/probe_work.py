"""The workload of the probe: a known number of dispatches, one to a command buffer, then rest.

It is not a workload for users: it measures the recorder, not the machine's speed.
"""

import time
from functools import cache
from typing import Annotated, Any

import mlx.core as mx
import typer

from tracekit.workload import Step, workload

_SIZE = 4096
_SOURCE = """
    uint i = thread_position_in_grid.x;
    float value = values[i];
    for (int turn = 0; turn < 4096; ++turn) {
        value = fma(value, 0.999f, 0.001f);
    }
    out[i] = value;
"""


@workload
def probe(
    dispatches: Annotated[int, typer.Option(min=1, help="Dispatches to make in all.")] = 150,
    pause: Annotated[float, typer.Option(min=0, help="Seconds before each step.")] = 0.01,
) -> Step:
    """Dispatch a small kernel so many times, one a step, and then only rest.

    The rest keeps the process alive until its recording ends, so that the last dispatch is in it.
    """
    on_metal = mx.metal.is_available()
    values = mx.array([0.5] * _SIZE)
    left = dispatches

    def submit() -> mx.array | None:
        nonlocal left
        time.sleep(pause)
        if left == 0:
            return None
        left -= 1
        return launch(values) if on_metal else mx.multiply(values, values)

    def wait(work: mx.array | None) -> None:
        if work is not None:
            mx.eval(work)

    return Step(submit, wait, "metal" if on_metal else "cpu", dispatches=1 if on_metal else None)


def launch(values: mx.array) -> mx.array:
    """Dispatch the kernel over `values`, once."""
    (output,) = _kernel()(
        inputs=[values],
        grid=(_SIZE, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[(_SIZE,)],
        output_dtypes=[mx.float32],
    )
    return output


@cache
def _kernel() -> Any:
    return mx.fast.metal_kernel(
        name="tracekit_probe", input_names=["values"], output_names=["out"], source=_SOURCE
    )
