"""Whether a recording really has GPU counters: the TOC must name a counter set."""

from collections.abc import Sequence

from tracekit.record.xctrace.problems import NO_COUNTERS, WAYS_TO_COUNTERS
from tracekit.record.xctrace.selection import Selection
from tracekit.tables.toc.toc import TocRun

_KEY = "Counter Set: "
_NONE = "(null)"


def counter_set(run: TocRun) -> str:
    """Return the counter set that any instrument of the run was set to; empty for none."""
    lines = (line for lines in run.settings.values() for line in lines)
    sets = (line.removeprefix(_KEY) for line in lines if line.startswith(_KEY))
    return next((name for name in sets if name and name != _NONE), "")


def no_counters(why: str) -> str:
    """Say that GPU counters were asked for and are not there, why, and the ways out."""
    return f"{NO_COUNTERS}: {why}. {WAYS_TO_COUNTERS}"


def counter_warnings(
    selection: Selection, run: TocRun, told: Sequence[str] = ()
) -> tuple[str, ...]:
    """Say so if no counter set was recorded, unless it was `told` already.

    Where nobody asked for counters, a template that may have a set of its own is named.
    """
    if counter_set(run):
        return ()
    if selection.counters:
        return without_repeats((no_counters("the recording names no counter set"),), told)
    if selection.own_counters is None:
        name = selection.template
        return (f"No GPU counters were recorded: the template {name} switches no set of them on.",)
    return ()


def without_repeats(warnings: Sequence[str], told: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the warnings; that there are no counters is said once, for its first reason."""
    said = any(one.startswith(NO_COUNTERS) for one in told)
    kept: list[str] = []
    for one in warnings:
        if one.startswith(NO_COUNTERS):
            if said:
                continue
            said = True
        kept.append(one)
    return tuple(kept)
