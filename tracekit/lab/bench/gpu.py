"""GPU time of a subject's kernels, where there is a GPU to ask."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from tracekit.base.errors import ToolError
from tracekit.lab.bench.document import Dispatch
from tracekit.lab.bench.subject import Prepared
from tracekit.lab.metal_queue.bridge import load_metal
from tracekit.lab.metal_queue.queue import PROTOCOL, Protocol
from tracekit.lab.metal_queue.timing import time_kernels
from tracekit.workload.calls import backend


@dataclass(frozen=True)
class Found:
    """GPU times, or the reason why there is none."""

    dispatches: tuple[Dispatch, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class GpuClock:
    """How GPU time is measured; `metal` is PyObjC's module, loaded when it is needed if None."""

    metal: Any = None
    protocol: Protocol = PROTOCOL

    def measure(self, prepared: Prepared) -> Found:
        """Time each kernel of a call alone, the inputs in turns."""
        launch = prepared.launch
        if launch is None:
            return Found(reason=_no_launch())
        calls = [partial(launch, number) for number in range(prepared.sets)]
        try:
            timed = time_kernels(calls, self.metal or load_metal(), self.protocol)
        except ToolError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return Found(reason=f"{error.message}{hint}")
        return Found(
            tuple(
                Dispatch(
                    function=one.pipeline.function,
                    samples=one.time.samples,
                    minimum=one.time.minimum,
                    median=one.time.median,
                    execution_width=one.pipeline.execution_width,
                    most_threads=one.pipeline.most_threads,
                    threadgroup_memory=one.pipeline.threadgroup_memory,
                )
                for one in timed
            )
        )


def _no_launch() -> str:
    if backend() == "cpu":
        return "GPU time is not available, because MLX runs on the CPU here."
    return (
        "GPU time is not available, because the kernels are MLX's own, which no queue but its own "
        "can launch."
    )
