"""A night in words: the lines and tables that a terminal shows."""

from collections.abc import Iterator, Sequence

from tracekit.base.units import quantity
from tracekit.compare.verdicts import Shown
from tracekit.nightly.history.night import LEADS, Entry, Found, Judged, Night
from tracekit.nightly.trend.words import cost_of

Table = tuple[str, Sequence[str], list[Sequence[str]]]
NOTHING = "—"
_COLUMNS = ("metric", "reference", "candidate", "change", "95 % interval")
_LINE = 100  # characters
_SHOWN = 3  # names of metrics that are not known


def heading(night: Night) -> str:
    """Return how the night ended in a line of a terminal; `verdicts` says why, at any length."""
    lead = LEADS[night.outcome] if night.outcome else "Not ended"
    whole = f"{lead}: {night.reason}" if night.reason else lead
    named = [one.capture for one in night.entries if one.outcome is night.outcome]
    if len(whole) <= _LINE or not named:
        return whole
    stopped = "; it was stopped before all captures were through" if night.partial else ""
    return f"{lead}: {', '.join(named)}{stopped}"


def verdicts(night: Night) -> list[Sequence[str]]:
    """Return how each metric that decides ended, and why; of captures without one, how they did."""
    return [row for entry in night.entries for row in _verdicts(entry)]


def tables(night: Night) -> Iterator[Table]:
    """Yield a table of metrics for each capture, and one of what its traces have."""
    for entry in night.entries:
        if rows := [_row(one) for one in entry.judged if _measured(one)]:
            yield title(entry), _COLUMNS, rows
        if entry.findings:
            columns = ("finding", "candidate", "reference", "what")
            yield f"{entry.capture}: findings", columns, [_found(one) for one in entry.findings]


def notes(night: Night) -> Iterator[str]:
    """Yield what is to be known beside the numbers, a sentence a line."""
    for entry in night.entries:
        if entry.parity:
            yield f"{entry.capture}: {entry.parity}"
        if entry.overhead is not None:
            yield f"{entry.capture}: {cost_of(entry.overhead)}"
    blank = {
        one.capture: tuple(each.metric for each in one.judged if not _measured(each))
        for one in night.entries
    }
    for names in dict.fromkeys(blank.values()):
        if names:
            captures = ", ".join(capture for capture, own in blank.items() if own == names)
            yield f"{captures}: no value of {_few(names)}; night.json says why."


def title(entry: Entry) -> str:
    """Return what was measured against what, and what its changes come on top of."""
    candidate = entry.candidate.words or entry.candidate.workload
    if entry.reference is None:
        return f"{entry.capture}: {candidate}, followed without a reference"
    beyond = next((one.baseline for one in entry.judged if one.baseline), "")
    expected = f"; changes beyond the baseline {beyond}" if beyond else ""
    return f"{entry.capture}: {candidate} against {entry.reference.words}{expected}"


def shift(judged: Judged) -> str:
    """Return the change in words: "+9.8 %", or a difference in the metric's unit."""
    return NOTHING if judged.change is None else _shown(judged).change(judged.change)


def bounds(judged: Judged) -> str:
    """Return the interval in words."""
    if judged.low is None or judged.high is None:
        return NOTHING
    return _shown(judged).between(judged.low, judged.high)


def _verdicts(entry: Entry) -> Iterator[Sequence[str]]:
    deciding = [one for one in entry.judged if one.gated and one.outcome is not None]
    if not any(one.outcome is entry.outcome for one in deciding):
        yield str(entry.outcome or "not ended"), entry.capture, entry.reason
    for one in deciding:
        yield str(one.outcome), f"{entry.capture} {one.metric}", one.reason


def _few(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more metrics"


def _row(one: Judged) -> Sequence[str]:
    return (
        one.metric,
        _value(one.reference, one),
        _value(one.candidate, one),
        shift(one),
        bounds(one),
    )


def _measured(one: Judged) -> bool:
    """Tell whether a value of any pair is known."""
    return one.candidate is not None or one.reference is not None


def _found(one: Found) -> Sequence[str]:
    return (one.rule, f"in {one.traces} of {one.of}", f"in {one.in_reference}", one.message)


def _value(value: float | None, judged: Judged) -> str:
    return NOTHING if value is None else quantity(value, judged.unit)


def _shown(judged: Judged) -> Shown:
    return Shown(judged.scale, judged.unit)
