"""Turn a sweep into a table and sentences for a person."""

from collections.abc import Iterator, Sequence
from functools import partial

from tracekit.base import units
from tracekit.lab.bench.words import MARK, disturbances
from tracekit.lab.sweep.cliffs import Cliff, Crossover
from tracekit.lab.sweep.measurement import SweepDocument, SweptCurve

_SIGNS = {"rise": "▲", "drop": "▼"}


def table(
    sweep: SweepDocument, curve: SweptCurve
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Return a title, the columns, and a row for each size that was measured."""
    title = f"{curve.subject} over {option_of(sweep.parameter)}"
    head = (sweep.parameter, "call, host clock", "MAD", _unit_heading(curve), "cliff")
    cliffs = {cliff.larger_size: cliff for cliff in curve.cliffs}
    rows: list[tuple[str, ...]] = []
    for point in curve.points:
        timing = point.row.micro
        if timing is None:
            continue
        cliff = cliffs.get(point.size)
        mark = f" {MARK}" if point.row.disturbed else ""
        per_unit = ""
        if point.work:
            per_unit = describe_rate(timing.summary.median, point.work)
        cells = (
            units.count(point.size),
            f"{units.duration(timing.summary.median)}{mark}",
            f"{units.duration(timing.summary.mad)}{mark}",
            per_unit,
            _name_cliff(cliff),
        )
        rows.append(cells)
    return title, head, rows


def describe_rate(nanoseconds: float, work: float) -> str:
    """Return the time of a million units of work: "12.3 µs"."""
    return units.duration(nanoseconds / work * 1e6)


def _unit_heading(curve: SweptCurve) -> str:
    return f"a million {curve.unit}"


def _name_cliff(cliff: Cliff | None) -> str:
    if cliff is None:
        return ""
    return f"{_SIGNS[cliff.kind]} {cliff.kind} {cliff.excess:.2f}x"


def option_of(parameter: str) -> str:
    """Return a parameter as its option of the command line has it, without the dashes."""
    return parameter.replace("_", "-")


def findings(sweep: SweepDocument) -> list[str]:
    """Return a sentence for each cliff and crossover."""
    parameter = option_of(sweep.parameter)
    describe_crossover = partial(_describe_crossover, parameter)
    sentences: list[str] = []
    for curve in sweep.curves:
        describe_cliff = partial(_describe_cliff, curve.subject, parameter)
        sentences.extend(map(describe_cliff, curve.cliffs))
    sentences.extend(map(describe_crossover, sweep.crossovers))
    return sentences


def _describe_crossover(parameter: str, crossover: Crossover) -> str:
    return (
        f"{crossover.quicker_before} is quicker at {parameter} {crossover.smaller_size}, "
        f"{crossover.quicker_after} at {crossover.larger_size}."
    )


def _describe_cliff(subject: str, parameter: str, cliff: Cliff) -> str:
    place = f"{subject}, {parameter} {cliff.smaller_size} to {cliff.larger_size}"
    times = f"{cliff.ratio:.2f} times the time ({cliff.lower_bound:.2f} to {cliff.upper_bound:.2f})"
    if cliff.kind == "rise":
        return f"{place}: {times} for {cliff.work_ratio:.2f} times the work."
    return (
        f"{place}: {times} although it is {cliff.work_ratio:.2f} times the work; padding "
        f"{cliff.smaller_size} to {cliff.larger_size} would be quicker."
    )


def conclusion(sweep: SweepDocument) -> str:
    """Return in one sentence whether there are cliffs, or that nothing could be judged."""
    cliffs = 0
    judged = 0
    for curve in sweep.curves:
        cliffs += len(curve.cliffs)
        judged += curve.judged
    if cliffs:
        return f"Cliffs: {cliffs}, among {judged} edges between sizes that could be judged."
    if judged:
        return f"No cliff was found among {judged} edges between sizes."
    return "Whether there is a cliff is not known: no edge between sizes could be judged."


def remarks(sweep: SweepDocument) -> Iterator[str]:
    """Yield the limits of the sweep: edges that were not judged, caches, failures."""
    yield conclusion(sweep)
    for curve in sweep.curves:
        if curve.unjudged:
            yield f"{curve.subject}: {_describe_unjudged(curve)}."
        places = {point.row.residence for point in curve.points if point.row.micro}
        if len(places) > 1:
            yield (
                f"{curve.subject}: the inputs of some sizes fit the last cache, those of others do "
                "not. A cliff between them may be the cache's."
            )
        if "unknown" in places:
            yield f"{curve.subject}: whether caches served the smaller sizes is not known."


def _describe_unjudged(curve: SweptCurve) -> str:
    example = curve.unjudged[0]
    return (
        f"edges not judged: {len(curve.unjudged)}, such as {example.smaller_size} to "
        f"{example.larger_size} ({example.reason})"
    )


def warnings(sweep: SweepDocument) -> Iterator[str]:
    """Yield why times do not count, and each size that could not be measured."""
    for curve in sweep.curves:
        yield from disturbances([point.row for point in curve.points])
        for point in curve.points:
            if point.row.micro is None:
                yield f"{point.row.name} was not measured: {point.row.reason}"


def series(curve: SweptCurve) -> Sequence[tuple[int, float]]:
    """Return the measured sizes with the median time of a call in ns."""
    return [
        (point.size, point.row.micro.summary.median) for point in curve.points if point.row.micro
    ]
