"""From a subject's samples to its row, and how many times quicker one is than another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tracekit.base import paired_ratio
from tracekit.lab.bench.document import Comparison, Row, Timing, summarize
from tracekit.lab.bench.inputs import Inputs
from tracekit.lab.bench.measure import Found, GpuClock, Runner
from tracekit.lab.bench.subject import Subject


def compared(rows: Sequence[Row], subjects: Sequence[Subject], against: str | None) -> list[Row]:
    """Fill in each row's speed-up against its family's naive subject, and against `against`.

    Only those of one family do the same work; others have no ratio.
    """
    by_name = {row.name: row for row in rows}
    naive = {one.family: one.name for one in subjects if one.naive}
    return [
        replace(
            row,
            speed_up=_comparison(row, naive.get(row.family), by_name),
            against=_comparison(row, against, by_name),
        )
        for row in rows
    ]


def _comparison(row: Row, other: str | None, rows: Mapping[str, Row]) -> Comparison | None:
    if other is None or other == row.name or row.micro is None:
        return None
    base = rows.get(other)
    if base is not None and base.family != row.family:
        return None
    if base is None or base.micro is None:
        return Comparison(other, reason=f"{other} was not measured")
    return quicker(row.micro.samples, base.micro.samples, other)


def quicker(ours: Sequence[float], theirs: Sequence[float], other: str) -> Comparison:
    """Compare samples of the same rounds: how many times as long the other takes."""
    pairs = min(len(ours), len(theirs))
    if min((*ours[:pairs], *theirs[:pairs]), default=0) <= 0:
        return Comparison(other, reason="a sample took no time that this clock can see")
    found = paired_ratio(theirs[:pairs], ours[:pairs])
    return Comparison(other, found.median, found.low, found.high, found.pairs)


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
