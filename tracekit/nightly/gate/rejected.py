"""What pairs that do not count measured: shown as such, and never judged."""

from collections.abc import Sequence
from dataclasses import replace

from tracekit.compare import Shown, middle, shift
from tracekit.nightly.gate.decision import changes, plain_change
from tracekit.nightly.gate.judge import Quantity, quantity_of
from tracekit.nightly.history.night import Pair
from tracekit.nightly.plan.plan import Capture


def rejected_words(capture: Capture, pairs: Sequence[Pair], results: dict[str, Quantity]) -> str:
    """Say what the pairs measured where none of them counts; empty where one does."""
    untraced_pairs = [replace(pair, contaminated=()) for pair in pairs if not pair.traced]
    if not untraced_pairs or any(not pair.contaminated for pair in pairs):
        return ""
    parts: list[str] = []
    for gated in (metric for metric in capture.metrics if metric.gate):
        measured = changes(untraced_pairs, gated.metric, gated.scale)
        if not measured:
            continue
        interval = shift(measured)
        ends = (middle(measured), None, None)
        if interval is not None:
            ends = (interval.middle, interval.lower_bound, interval.upper_bound)
        plain_ends = [None if end is None else plain_change(end, gated.scale) for end in ends]
        formatter = Shown(gated.scale, quantity_of(gated.metric, results).unit)
        parts.append(f"{gated.metric} {formatter.format_change(*plain_ends)}")
    if not parts:
        return ""
    return f"Measured, but not counted: {', '.join(parts)} in {len(untraced_pairs)} pairs."
