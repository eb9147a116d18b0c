"""Can the capture be trusted? How it ended, what it cost, and what the tables lack."""

from collections.abc import Iterator

from tracekit.analysis.result import Result
from tracekit.base.recording import Provenance
from tracekit.base.units import count, duration
from tracekit.report.gates import gates
from tracekit.report.naming import flat
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.rows import Rows, rows

_SET = "Counter Set: "
_NO_SET = "(null)"
_MARKS = ("phases", "steps")


def context(result: Result, tables: Tables) -> Context:
    """Collect what tells whether the numbers can be trusted."""
    provenance = result.provenance
    found = gates(tables)  # which reads the tables that remarks are about
    return {
        "warnings": provenance.warnings,
        "remarks": list(_remarks(tables, provenance.warnings)),
        "facts": list(_facts(provenance, tables)),
        "overhead": provenance.overhead,
        "stages": provenance.stages,
        "clock": list(flat(provenance.clock)),
        "target_reason": provenance.target_reason,
        "targets": provenance.targets,
        "recorder": provenance.recorder,
        "capabilities": provenance.capabilities,
        "gates": found,
        "filled": [one for one in found if one.rows and not one.empty],
        "foreign": [one for one in found if one.empty and one.rows],
        "empty": [one for one in found if one.rows == 0],
        "missing": [one for one in found if one.rows is None],
    }


def _remarks(tables: Tables, told: tuple[str, ...]) -> Iterator[str]:
    """Yield what readers say of the exports and no warning says already; each thing once."""
    found = rows(tables, "remarks").frame
    if not found.empty:
        texts = dict.fromkeys(found["text"].dropna().astype(str))
        yield from (text for text in texts if text not in told)


def _facts(provenance: Provenance, tables: Tables) -> Iterator[tuple[str, str]]:
    yield "Ended", _end(provenance)
    if provenance.templates:
        yield "Template", ", ".join(provenance.templates)
    yield "Counter Set", counter_set(provenance, tables)
    marked = any(not rows(tables, name).absence for name in _MARKS)
    yield "Clock of the marks", clock_words(provenance, marked=marked)


def _end(provenance: Provenance) -> str:
    why = provenance.end_reason or "the recording does not say why"
    if provenance.duration is None:
        return why
    return f"{why}, after {duration(provenance.duration * 1e9)}"


def counter_set(provenance: Provenance, tables: Tables) -> str:
    """Say which set of GPU counters was recorded, and how many samples there are of it."""
    if provenance.recorder == "host":
        return "none: the host recorder sees no GPU"
    return f"{_named_set(rows(tables, 'settings'))}; {_samples(rows(tables, 'gpu_counters'))}"


def _named_set(settings: Rows) -> str:
    if settings.absence:
        return "not known, because no table of contents of the recording names it"
    lines = settings.frame["setting"].dropna().astype(str)
    sets = [one.removeprefix(_SET) for one in lines if one.startswith(_SET)]
    named = [one for one in dict.fromkeys(sets) if one and one != _NO_SET]
    return ", ".join(named) or "none is switched on"


def _samples(counters: Rows) -> str:
    if counters.absence:
        return "no samples of counters"
    return f"{count(len(counters.frame))} samples of counters"


def clock_words(provenance: Provenance, *, marked: bool) -> str:
    """Say how the workload's marks were laid on the trace's time."""
    clock = provenance.clock
    if provenance.recorder == "host":
        return "the marks and the samples are of one clock of the host"
    if not clock and not marked:
        return "there are no marks: no workload told its phases or steps"
    if not clock:
        return "not known: the recording does not say how its clocks are aligned"
    if "origin" not in clock:
        return "the marks tell no time that the trace tells too, so they are not laid on it"
    by = f"laid on the trace's time by {clock.get('source', 'a clock that is not named')}"
    good = clock.get("uncertainty")
    return f"{by}, good to {duration(good)}" if isinstance(good, int) else by


health = Panel("health", "Capture health", context, reads=("gpu_counters",))
