"""From a subject's samples to its row."""

from collections.abc import Sequence
from typing import Literal

from tracekit.lab.bench.document import Row, Timing
from tracekit.lab.bench.gpu import Found, GpuClock
from tracekit.lab.bench.inputs import Inputs
from tracekit.lab.bench.measure import Runner
from tracekit.lab.bench.statistics import summarize


def finished(runner: Runner, inputs: Inputs, gpu: GpuClock | None, stopped: str = "") -> Row:
    """Make a row of what a subject left.

    Args:
        runner: The subject with its samples.
        inputs: What it ran on.
        gpu: What measures GPU time; None if it should not.
        stopped: Why it was stopped before its time; empty if it was not.
    """
    prepared, step, how = runner.prepared, runner.prepared.step, runner.prepared.launched
    reason = runner.failure or stopped
    found = Found(reason=reason) if gpu is None or reason else gpu.measure(prepared)
    return Row(
        name=runner.subject.name,
        family=runner.subject.family,
        state=_state(runner, reason),
        reason=reason,
        kernel=how.kernel,
        threadgroup=how.threadgroup,
        hd_tile=how.hd_tile,
        partitions=how.partitions,
        block_size=inputs.shape.block_size if runner.subject.paged else None,
        chained=prepared.chained,
        micro=timing(runner.micro, runner.calls),
        macro=timing(runner.macro, 1),
        dispatches=found.dispatches,
        no_gpu=found.reason,
        tokens=step.tokens,
        sequence=prepared.sequence,
        bytes_read=step.bytes_read,
        bytes_unique=step.bytes_unique,
        bytes_written=step.bytes_written,
        flops=step.flops,
        error=prepared.error,
        sets=prepared.sets,
        working_set=prepared.working_set,
        residence=_residence(inputs, prepared.working_set),
    )


def timing(samples: Sequence[float], calls: int) -> Timing | None:
    """Return samples with what they say; None if there are none."""
    return Timing(tuple(samples), calls, summarize(samples)) if samples else None


def _state(runner: Runner, reason: str) -> Literal["measured", "partial", "failed"]:
    if not reason:
        return "measured"
    return "partial" if runner.micro else "failed"


def _residence(inputs: Inputs, working_set: int) -> Literal["memory", "cache", "unknown"]:
    fits = inputs.cache.holds(working_set)
    if fits is None:
        return "unknown"
    return "cache" if fits else "memory"
