"""Whether a recording really has GPU counters: the TOC must name a counter set."""

from tracekit.toc import TocRun
from tracekit.xctrace.selection import GPU_COUNTERS, Selection

_KEY = "Counter Set: "
_NONE = "(null)"


def counter_set(run: TocRun) -> str:
    """Return the counter set that any instrument of the run was set to; empty for none."""
    lines = (line for lines in run.settings.values() for line in lines)
    sets = (line.removeprefix(_KEY) for line in lines if line.startswith(_KEY))
    return next((name for name in sets if name and name != _NONE), "")


def counter_warnings(selection: Selection, run: TocRun) -> tuple[str, ...]:
    """Say so if counters were asked for and no counter set was recorded."""
    if not selection.counters or counter_set(run):
        return ()
    why = "not available on this chip and Xcode"
    return (f"The instrument {GPU_COUNTERS} recorded no counter set: GPU counters are {why}.",)
