"""From seconds to tables: rates, memory, and ratios of runs of one round."""

import statistics
from collections.abc import Sequence
from typing import Any, Literal

from reading.methods import PARSER, RIVAL
from reading.rounds import Export, Outcome

Clock = Literal["wall", "cpu"]
_SHORTEST = 1e-6  # a clock that has not moved yet
_HEADS = ("method", "MB/s", "rows/s", "memory", f"x {RIVAL}", f"x {PARSER}", "result")


def as_markdown(export: Export, outcomes: Sequence[Outcome], clock: Clock = "wall") -> str:
    """Return the outcomes of one export as a table, by the clock on the wall or by CPU time."""
    rows = _rows(outcomes)
    title = f"**{export.name}**: {export.megabytes:,.0f} MB"
    table = [_HEADS, ("---", *("---:",) * (len(_HEADS) - 2), "---")]
    table += [_line(export, outcome, outcomes, clock) for outcome in outcomes]
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEADS))]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in table
    ]
    return "\n".join([f"{title}, {rows:,} rows" if rows else title, "", *lines])


def as_data(export: Export, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the outcomes of one export as they were measured, for JSON."""
    return {
        "name": export.name,
        "bytes": export.path.stat().st_size,
        "rows": _rows(outcomes),
        "methods": {
            one.method.name: {
                "result": one.verdict,
                "seconds": one.seconds,
                "cpu": one.cpu,
                "memory": one.memory,
            }
            for one in outcomes
        },
    }


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return how much faster ours was, for each round that both have."""
    return [their / max(our, _SHORTEST) for our, their in zip(ours, theirs, strict=False)]


def _line(
    export: Export, outcome: Outcome, outcomes: Sequence[Outcome], clock: Clock
) -> tuple[str, ...]:
    taken = {one.method.name: one.seconds if clock == "wall" else one.cpu for one in outcomes}
    ours = taken[outcome.method.name]
    if not ours:
        return (outcome.method.name, *("",) * (len(_HEADS) - 2), outcome.verdict)
    seconds = max(statistics.median(ours), _SHORTEST)
    return (
        outcome.method.name,
        f"{export.megabytes / seconds:,.0f}"
        if seconds < export.megabytes / 10
        else f"{export.megabytes / seconds:.1f}",
        f"{_rows(outcomes) / seconds:,.0f}" if outcome.method.decodes else "",
        f"{statistics.median(outcome.memory) / 1e6:,.0f} MB",
        *(_worded(ratios(ours, taken.get(name, []))) for name in (RIVAL, PARSER)),
        outcome.verdict,
    )


def _worded(found: Sequence[float]) -> str:
    if not found:
        return ""
    middle = f"{statistics.median(found):.2f}"
    return middle if len(found) == 1 else f"{middle} [{min(found):.2f} - {max(found):.2f}]"


def _rows(outcomes: Sequence[Outcome]) -> int:
    return next((one.rows for one in outcomes if one.rows is not None), 0)
