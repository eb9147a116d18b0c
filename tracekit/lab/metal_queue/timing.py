"""GPU time of the kernels that a function of MLX's launches, each one by itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.lab.metal_queue.bridge import unavailable
from tracekit.lab.metal_queue.launches import Launch, recorded
from tracekit.lab.metal_queue.prelude import prelude
from tracekit.lab.metal_queue.queue import PROTOCOL, GpuTime, Pipeline, Protocol, Queue


@dataclass(frozen=True)
class Timed:
    """A kernel, its pipeline's limits and its GPU time."""

    launch: Launch
    pipeline: Pipeline
    time: GpuTime


def time_kernels(
    calls: Sequence[Callable[[], Any]], metal: Any, protocol: Protocol = PROTOCOL
) -> tuple[Timed, ...]:
    """Time each custom kernel that a call launches, on a queue of our own.

    Args:
        calls: The same call on several inputs; dispatches take the inputs in turns, so that
            caches do not serve everything.
        metal: PyObjC's module, see `load_metal`.
        protocol: How often.

    Raises:
        ToolError: GPU time is not available; the message says why.
    """
    sets = [recorded(call) for call in calls]
    if not sets or not sets[0]:
        raise unavailable("the call launches no kernel of `mx.fast.metal_kernel`")
    queue = Queue(metal)
    return tuple(_timed(queue, launches, protocol) for launches in zip(*sets, strict=True))


def _timed(queue: Queue, launches: Sequence[Launch], protocol: Protocol) -> Timed:
    first = launches[0]
    text = f"{prelude()}\n{first.source.text}"
    contents = [launch.buffers() for launch in launches]
    try:
        pipeline = queue.compile(text, first.source.function)
        bindings = [{index: queue.buffer(held) for index, held in one.items()} for one in contents]
        time = queue.time(pipeline, bindings, first.source.grid, first.threadgroup, protocol)
    except (AttributeError, TypeError, ValueError) as error:
        # What PyObjC raises for a method that is not there, or takes something else.
        raise unavailable(
            f"this PyObjC or macOS takes a call of Metal otherwise: {error}"
        ) from error
    return Timed(first, pipeline, time)
