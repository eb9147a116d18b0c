"""The page of a sweep: a picture of the times with marks at the cliffs, and all numbers."""

from itertools import chain

from tracekit import lab
from tracekit.base import units
from tracekit.pages import Redact, chart, document, environment_of

_COLOURS = ("device", "idle")
_HEADROOM = 1.15
_LABEL_ROWS = 3


def render_sweep(sweep: lab.sweep.measurement.SweepDocument, *, redact: Redact) -> str:
    """Return one HTML document that loads nothing; the same sweep gives the same characters."""
    tables: list[object] = []
    subjects: list[str] = []
    tone = "good"
    for curve in sweep.curves:
        tables.append(lab.sweep.words.table(sweep, curve))
        subjects.append(curve.subject)
        if curve.cliffs:
            tone = "warning"
        elif not curve.judged and tone == "good":
            tone = "note"
    return document(
        environment_of(redact),
        "sweep/page.html",
        scripts=(),
        name=f"{' and '.join(subjects)} over {lab.sweep.words.option_of(sweep.parameter)}",
        conclusion=lab.sweep.words.conclusion(sweep),
        tone=tone,
        findings=lab.sweep.words.findings(sweep),
        remarks=[*list(lab.sweep.words.remarks(sweep))[1:], *lab.sweep.words.warnings(sweep)],
        charts=_draw_charts(sweep),
        tables=tables,
    )


def _draw_charts(sweep: lab.sweep.measurement.SweepDocument) -> list[chart.Chart]:
    """Return a chart of the time of a call, and one of the time of a unit of work."""
    drawn_curves: list[lab.sweep.measurement.SweptCurve] = []
    times: dict[str, list[tuple[int, float]]] = {}
    rates: dict[str, list[tuple[int, float]]] = {}
    for curve in sweep.curves:
        curve_times = list(lab.sweep.words.series(curve))
        if len(curve_times) > 1:
            drawn_curves.append(curve)
            times[curve.subject] = curve_times
            rates[curve.subject] = _rates_of(curve)
    if not drawn_curves:
        return []
    title = f"Time of a million {drawn_curves[0].unit}"
    charts = [_draw(sweep, drawn_curves, times, "Time of a call", "Medians by the host's clock.")]
    if all(rates.values()):
        charts.append(_draw(sweep, drawn_curves, rates, title, "A sound one falls or stays."))
    return charts


def _rates_of(curve: lab.sweep.measurement.SweptCurve) -> list[tuple[int, float]]:
    work_by_size = {point.size: point.work for point in curve.points}
    rates: list[tuple[int, float]] = []
    for size, nanoseconds in lab.sweep.words.series(curve):
        work = work_by_size[size]
        if work:
            rates.append((size, nanoseconds / work * 1e6))
    return rates


def _draw(
    sweep: lab.sweep.measurement.SweepDocument,
    curves: list[lab.sweep.measurement.SweptCurve],
    values: dict[str, list[tuple[int, float]]],
    title: str,
    summary: str,
) -> chart.Chart:
    sizes, heights = zip(*chain(*values.values()), strict=True)
    shapes: list[chart.Shape] = []
    cliff_sizes: set[int] = set()
    names = zip(curves, _COLOURS, strict=False)
    for curve, color in names:
        points = values[curve.subject]
        shapes.append(chart.line(points, color, dashed=color != _COLOURS[0]))
        shapes.append(chart.dots(points, color, 2.5))
        by_size = dict(points)
        marked_sizes = [cliff.larger_size for cliff in curve.cliffs]
        cliff_sizes.update(marked_sizes)
        marks = [(size, by_size[size]) for size in marked_sizes]
        shapes.append(chart.dots(marks, "error", 5.0))
    for number, size in enumerate(sorted(cliff_sizes)):
        shapes.append(chart.upright(size, str(size), "error", row=number % _LABEL_ROWS))
    axis_title = lab.sweep.words.option_of(sweep.parameter)
    x = chart.make_integer_axis(axis_title, min(sizes), max(sizes), units.count)
    y = chart.linear("", 0, max(heights) * _HEADROOM, units.duration)
    summary_parts = [summary]
    if cliff_sizes:
        summary_parts.append("Large dots are cliffs.")
    if len(curves) > 1:
        summary_parts.append(f"Solid: {curves[0].subject}; dashed: {curves[1].subject}.")
    return chart.Chart(title, " ".join(summary_parts), x, y, tuple(shapes))
