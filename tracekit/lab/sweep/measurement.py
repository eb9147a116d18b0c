"""Measure one or two subjects over sizes of one parameter, and find their cliffs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import msgspec

from tracekit.base import UsageError, require
from tracekit.lab.bench.company import Count, count_now
from tracekit.lab.bench.document import VERSION, BenchRow
from tracekit.lab.bench.inputs import Inputs, Shape, Subject, cache_here
from tracekit.lab.bench.measure import Clock, Effort, measure_in_turns
from tracekit.lab.sweep.cliffs import (
    FALSE_ALARMS,
    THRESHOLD,
    Cliff,
    Crossover,
    SweepPoint,
    UnjudgedEdge,
    find_cliffs,
    find_crossovers,
)
from tracekit.record import Progress, quiet

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "decode": ("batch", "active_blocks", "block_size", "head_dim"),
    "prefill": ("queries", "head_dim"),
    "append": ("batch", "head_dim"),
    "append-run": ("active_blocks", "block_size", "head_dim"),
    "norm": ("rows", "dims", "out_dims"),
    "matmul": ("rows", "dims", "out_dims"),
    "quantized": ("rows", "dims", "out_dims"),
    "mlp": ("rows", "dims", "out_dims"),
    "routing": ("rows", "dims", "experts"),
    "experts": ("rows", "dims", "out_dims", "top_k"),
    "softmax": ("rows", "dims"),
    "rope": ("queries", "head_dim"),
    "residual": ("batch", "active_blocks", "head_dim"),
    "train": ("rows", "dims", "out_dims"),
}
"""Parameters that a family's work grows with, the usual one first."""
MOST_SIZES = 256
_LEAST_SIZES = 2
_RANGE_NUMBERS = 3

DEFINITIONS: Mapping[str, str] = {
    "time": "a call in a chain of them, as in `tracekit bench run`",
    "work": "floating-point operations of a call; bytes that memory must move, if it has none",
    "rise": "a unit of work takes longer at the larger size, beyond the threshold",
    "drop": "the whole larger call takes less time than the smaller one, beyond the threshold",
    "interval": "of the ratio of neighbours in a round, from order statistics; its confidence is "
    "1 - false_alarms / edges",
}


@dataclass(frozen=True)
class SweepPlan:
    """The subject, the parameter that changes, its sizes in rising order, and the rest.

    `against` is another subject of the family, which is measured in the same rounds.
    """

    subject: str
    parameter: str
    sizes: tuple[int, ...]
    shape: Shape
    against: str | None = None
    threshold: float = THRESHOLD


@dataclass(frozen=True)
class SweptSize:
    """One size with its measurement; `work` is that of a call, None if it is not known."""

    size: int
    work: int | None
    row: BenchRow


@dataclass(frozen=True)
class SweptCurve:
    """One subject over all sizes, with its cliffs.

    `judged` is the number of edges that could be judged, `unjudged` are the others.
    """

    subject: str
    unit: str
    points: tuple[SweptSize, ...]
    cliffs: tuple[Cliff, ...] = ()
    judged: int = 0
    unjudged: tuple[UnjudgedEdge, ...] = ()


@dataclass(frozen=True)
class SweepDocument:
    """The JSON of `tracekit bench sweep`; all times are ns."""

    parameter: str
    shape: Shape
    threshold: float
    curves: tuple[SweptCurve, ...]
    crossovers: tuple[Crossover, ...] = ()
    interrupted: bool = False
    false_alarms: float = FALSE_ALARMS
    definitions: Mapping[str, str] = field(default_factory=lambda: dict(DEFINITIONS))
    kind: str = "sweep"
    version: int = VERSION


def parse_sizes(words: str) -> tuple[int, ...]:
    """Return the sizes of "1:64", "8:64:8" or "1,2,4,16:20" in rising order.

    A range holds both its ends. Raise UsageError for anything else, and for more than 256 sizes.
    """
    sizes: set[int] = set()
    for part in words.split(","):
        sizes.update(_parse_range(part.strip(), words))
    if len(sizes) < _LEAST_SIZES:
        raise UsageError("A sweep takes two sizes or more.", hint="Write 1:64, or 1,2,4,8.")
    if len(sizes) > MOST_SIZES:
        raise _refuse_many()
    return tuple(sorted(sizes))


def _parse_range(part: str, words: str) -> range:
    numbers = part.split(":")
    if len(numbers) > _RANGE_NUMBERS or not all(map(str.isdecimal, numbers)):
        raise UsageError(f"{words!r} does not list sizes.", hint="Write 1:64, 8:64:8, or 1,2,4,8.")
    begin = int(numbers[0])
    end = begin
    step = 1
    if len(numbers) > 1:
        end = int(numbers[1])
    if len(numbers) == _RANGE_NUMBERS:
        step = int(numbers[2])
    if begin < 1 or step < 1 or end < begin:
        raise UsageError(
            f"The range {part!r} holds no size.", hint="A range rises from at least 1: 1:64."
        )
    sizes = range(begin, end + 1, step)
    if len(sizes) > MOST_SIZES:
        raise _refuse_many()
    return sizes


def _refuse_many() -> UsageError:
    return UsageError(
        f"A sweep takes {MOST_SIZES} sizes at most.", hint="A range may have steps: 8:512:8."
    )


def choose_parameter(subject: Subject, parameter: str | None) -> str:
    """Return the parameter of a sweep, by default the usual one of the subject's family."""
    known_parameters = PARAMETERS[subject.family]
    if parameter is None:
        return known_parameters[0]
    name = parameter.replace("-", "_")
    require(name, known_parameters, "parameter of this subject")
    return name


def measure_sweep(
    plan: SweepPlan,
    subjects: Sequence[Subject],
    effort: Effort,
    *,
    clock: Clock = time.perf_counter_ns,
    progress: Progress = quiet,
    count: Count = count_now,
) -> SweepDocument:
    """Measure subjects of one family at all sizes, in turns, and find cliffs and crossovers.

    Each round takes one sample of each size, so that a drift of the machine reaches all alike. An
    interrupt keeps the samples so far. Raise UsageError if the subjects are of different families.
    """
    base_subject = subjects[0]
    for subject in subjects[1:]:
        if subject.family != base_subject.family:
            raise UsageError(
                f"{base_subject.name} and {subject.name} do different work.",
                hint="tracekit bench run --list shows the families.",
            )
    cache = cache_here()
    pairs: list[tuple[Subject, Inputs]] = []
    for size in plan.sizes:
        sized_inputs = Inputs(replace(plan.shape, **{plan.parameter: size}), cache)
        for subject in subjects:
            sized_subject = replace(subject, name=_name_row(subject, size))
            pairs.append((sized_subject, sized_inputs))
    rows, stopped = measure_in_turns(pairs, effort, clock=clock, progress=progress, count=count)
    curves = tuple(_make_curve(subject, plan, rows) for subject in subjects)
    crossovers: tuple[Crossover, ...] = ()
    if len(curves) > 1:
        curve, other_curve = curves
        names = (curve.subject, other_curve.subject)
        points = _usable_points(curve)
        crossovers = find_crossovers(points, _usable_points(other_curve), names)
    return SweepDocument(
        parameter=plan.parameter,
        shape=plan.shape,
        threshold=plan.threshold,
        curves=curves,
        crossovers=crossovers,
        interrupted=stopped,
    )


def _name_row(subject: Subject, size: int) -> str:
    return f"{subject.name} at {size}"


def _make_curve(subject: Subject, plan: SweepPlan, rows: Mapping[str, BenchRow]) -> SweptCurve:
    measured_rows: list[tuple[int, BenchRow]] = []
    for size in plan.sizes:
        row = rows.get(_name_row(subject, size))
        if row is not None:
            measured_rows.append((size, row))
    unit = "bytes"
    if any(row.flops for _, row in measured_rows):
        unit = "operations"
    points = [SweptSize(size, _work_of(row, unit), row) for size, row in measured_rows]
    curve = SweptCurve(subject.name, unit, tuple(points))
    usable_points = _usable_points(curve)
    judgement = find_cliffs(usable_points, threshold=plan.threshold)
    edges = max(0, len(usable_points) - 1)
    return replace(
        curve,
        cliffs=judgement.cliffs,
        judged=edges - len(judgement.unjudged),
        unjudged=(*judgement.unjudged, *_unusable_edges(curve)),
    )


def _work_of(row: BenchRow, unit: str) -> int | None:
    work = row.flops
    if unit == "bytes":
        work = row.bytes_unique + row.bytes_written
    return work or None


def _unusable_edges(curve: SweptCurve) -> list[UnjudgedEdge]:
    """Return the edges to sizes whose times do not count, with the reason."""
    edges: list[UnjudgedEdge] = []
    for smaller, larger in pairwise(curve.points):
        reason = _doubt_of(smaller) or _doubt_of(larger)
        if reason:
            edges.append(UnjudgedEdge(smaller.size, larger.size, reason))
    return edges


def _doubt_of(point: SweptSize) -> str:
    """Return why a size cannot be judged; nothing if it can be."""
    row = point.row
    if row.micro is None:
        return f"{point.size} was not measured"
    if row.disturbed:
        return row.disturbed
    if not point.work:
        return f"the work of {point.size} is not known"
    return ""


def _usable_points(curve: SweptCurve) -> list[SweepPoint]:
    """Return the points whose times count: none that other processes disturbed."""
    points: list[SweepPoint] = []
    for point in curve.points:
        timing = point.row.micro
        if timing is not None and point.work and not _doubt_of(point):
            points.append(SweepPoint(point.size, point.work, timing.samples))
    return points


def sweep_document(sweep: SweepDocument) -> dict[str, Any]:
    """Return a sweep as plain values."""
    document: dict[str, Any] = msgspec.to_builtins(sweep)
    return document
