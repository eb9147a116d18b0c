"""The limits of a capture's pipelines, which no capture holds: asked of Metal, on a Mac.

Metal compiles the captured text of a kernel anew and answers for that pipeline. No Mac has run this
so far: it is tested with a stand-in for PyObjC's Metal.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tracekit import analysis, record, tables
from tracekit.base import Recording, TracekitError
from tracekit.lab.metal_queue import MetalError, Queue, load_metal
from tracekit.lab.replay.source import find_kernel_text
from tracekit.lab.verification.metal_file import LaunchWords


def keep_limits(recording: Recording, load: Callable[[], Any] = load_metal) -> None:
    """Write the limits of the pipelines of a run's capture as a table of the run.

    `load` returns PyObjC's module. A capture that cannot be read has none.
    """
    if tables.DirectNote.read(recording.exports) is None:
        return
    capture = tables.captures.open_capture(recording.gputrace)
    record.imports.write_limits(recording, list(_list_rows(capture, load)))


_Row = tuple[int | str | None, ...]


def _list_rows(capture: "tables.captures.FrameCapture", load: Callable[[], Any]) -> Iterator[_Row]:
    """Yield the row of each pipeline that a dispatch of the capture has."""
    handles = {dispatch.pipeline for dispatch in capture.commands.dispatches}
    queue: Queue | None = None
    limits = analysis.dispatches.PipelineLimits()
    try:
        queue = Queue(load())
    except MetalError as error:
        limits = analysis.dispatches.PipelineLimits(reason=error.reason)
    for number, (handle, pipeline) in enumerate(capture.pipelines.items()):
        if handle not in handles:
            continue
        captured = capture.functions.get(pipeline.function)
        name = "" if captured is None else captured.name
        if queue is not None:
            limits = _ask(capture, queue, pipeline.function)
        sizes = (limits.most_threads, limits.execution_width, limits.threadgroup_memory)
        yield (number, name, *sizes, limits.reason or None)


def _ask(
    capture: "tables.captures.FrameCapture", queue: Queue, function: int
) -> "analysis.dispatches.PipelineLimits":
    try:
        kernel = find_kernel_text(capture, function, LaunchWords())
        state = queue.compile(kernel.text, kernel.function)
        return analysis.dispatches.PipelineLimits(
            state.maxTotalThreadsPerThreadgroup(),
            state.threadExecutionWidth(),
            state.staticThreadgroupMemoryLength(),
        )
    except MetalError as error:
        reason = error.reason
    except TracekitError as error:
        reason = error.message.rstrip(".")
    except (AttributeError, TypeError, ValueError) as error:
        # PyObjC raises these for a method that is missing, or takes other arguments.
        reason = f"this PyObjC or macOS takes a call of Metal otherwise: {error}"
    return analysis.dispatches.PipelineLimits(reason=reason)
