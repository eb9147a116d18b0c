"""The measurements of pairs that do not count: shown as such, and never judged."""

from collections.abc import Sequence
from dataclasses import replace

from tracekit.base import verdicts
from tracekit.comparison import shifts
from tracekit.nightly.gate.judge import quantity_of
from tracekit.nightly.history.night import Pair, Quantity
from tracekit.nightly.history.pairs import changes, plain_change
from tracekit.nightly.plan.plan import Capture


def rejected_words(capture: Capture, pairs: Sequence[Pair], results: dict[str, Quantity]) -> str:
    """Return the measurements of pairs if none of them counts, in words; empty if one does."""
    if any(not pair.rejections for pair in pairs):
        return ""
    untraced_pairs = [replace(pair, rejections=()) for pair in pairs if not pair.traced]
    parts: list[str] = []
    for gated in capture.metrics:
        if not gated.gate:
            continue
        pair_changes = changes(untraced_pairs, gated.metric, gated.scale)
        if pair_changes:
            unit = quantity_of(gated.metric, results).unit
            formatter = verdicts.Shown(gated.scale, unit)
            change_words = _describe(pair_changes, formatter)
            parts.append(f"{gated.metric} {change_words}")
    if not parts:
        return ""
    return f"Measured, but not counted: {', '.join(parts)} in {len(untraced_pairs)} pairs."


def _describe(pair_changes: Sequence[float], formatter: verdicts.Shown) -> str:
    """Return the middle of changes in words, with its interval if there are enough of them."""
    scale = formatter.scale
    interval = shifts.find_interval(pair_changes)
    if interval is None:
        return formatter.format_change(
            plain_change(shifts.find_middle(pair_changes), scale), None, None
        )
    middle_change = plain_change(interval.middle, scale)
    lower_bound = plain_change(interval.lower_bound, scale)
    upper_bound = plain_change(interval.upper_bound, scale)
    return formatter.format_change(
        middle_change,
        lower_bound,
        upper_bound,
    )
