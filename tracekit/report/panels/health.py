"""Can the capture be trusted? How it ended, what it cost, and what the tables lack."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tracekit.analysis import Result, used_tables
from tracekit.base import Provenance, count, duration
from tracekit.report.panel import Context, Tables, of_table, of_target, panel, rows
from tracekit.report.text import flat
from tracekit.tables import SCHEMAS


@dataclass(frozen=True)
class Gate:
    """How many rows a table has, of whatever process; None where there is no table.

    `own` of them are the target's, None for tables whose rows name no process. `source` says where
    its times come from, `absence` why there are no rows.
    """

    table: str
    rows: int | None
    own: int | None = None
    source: str = ""
    absence: str = ""

    @property
    def empty(self) -> bool:
        """Whether the table was recorded and has nothing of the target."""
        return self.rows == 0 or (self.rows is not None and self.own == 0)


def gates(tables: Tables) -> list[Gate]:
    """Return a gate for each table that metrics and rules use, in the order of the schemas."""
    used_names = used_tables()
    return [_gate(tables, name) for name in SCHEMAS if name in used_names]


def _gate(tables: Tables, name: str) -> Gate:
    table_rows = rows(tables, name)
    if table_rows.absence:
        with suppress(Exception):  # whatever keeps it from being read, its absence says
            if tables[name].empty:
                return Gate(name, 0, absence=table_rows.absence)
        return Gate(name, None, absence=table_rows.absence)
    target_rows = None
    if any(column.name == "target" for column in SCHEMAS[name].columns):
        target_rows = len(of_target(tables, name).frame)
    return Gate(name, len(table_rows.frame), target_rows, of_table(tables, name))


_SET = "Counter Set: "
_NO_SET = ("", "(null)")
_MARKS = ("phases", "steps")


@panel("Capture health", "gpu_counters")
def health(result: Result, tables: Tables) -> Context:
    """Collect what tells whether the numbers can be trusted."""
    provenance = result.provenance
    table_gates = gates(tables)  # which reads the tables that losses are about
    loss_frame = rows(tables, "losses").frame
    losses = [] if loss_frame.empty else dict.fromkeys(loss_frame["text"].dropna().astype(str))
    return {
        "warnings": provenance.warnings,
        "losses": [text for text in losses if text not in provenance.warnings],
        "facts": list(_facts(provenance, tables)),
        "overhead": provenance.overhead,
        "stages": provenance.stages,
        "clock": list(flat(provenance.clock)),
        "target_reason": provenance.target_reason,
        "targets": provenance.targets,
        "recorder": provenance.recorder,
        "capabilities": provenance.capabilities,
        "gates": table_gates,
        "filled": [gate for gate in table_gates if gate.rows and not gate.empty],
        "foreign": [gate for gate in table_gates if gate.empty and gate.rows],
        "empty": [gate for gate in table_gates if gate.rows == 0],
        "missing": [gate for gate in table_gates if gate.rows is None],
    }


def _facts(provenance: Provenance, tables: Tables) -> Iterator[tuple[str, str]]:
    end = provenance.end_reason or "the recording does not say why"
    lasted = provenance.duration
    yield "Ended", end if lasted is None else f"{end}, after {duration(lasted * 1e9)}"
    if provenance.templates:
        yield "Template", ", ".join(provenance.templates)
    yield "Counter Set", counter_set(provenance, tables)
    marked = any(not rows(tables, name).absence for name in _MARKS)
    yield "Clock of the marks", clock_words(provenance, marked=marked)


def counter_set(provenance: Provenance, tables: Tables) -> str:
    """Say which set of GPU counters was recorded, and how many samples there are of it."""
    if provenance.recorder == "host":
        return "none: the host recorder sees no GPU"
    settings, counters = rows(tables, "settings"), rows(tables, "gpu_counters")
    number = "no" if counters.absence else count(len(counters.frame))
    set_names = "not known, because no table of contents of the recording names it"
    if not settings.absence:
        lines = settings.frame["setting"].dropna().astype(str)
        sets = dict.fromkeys(line.removeprefix(_SET) for line in lines if line.startswith(_SET))
        set_names = ", ".join(name for name in sets if name not in _NO_SET) or "none is switched on"
    return f"{set_names}; {number} samples of counters"


def clock_words(provenance: Provenance, *, marked: bool) -> str:
    """Say how the workload's marks were laid on the trace's time."""
    clock = provenance.clock
    if provenance.recorder == "host":
        return "the marks and the samples are of one clock of the host"
    if not clock and not marked:
        return "there are no marks: no workload reported its phases or steps"
    if not clock:
        return "not known: the recording does not say how its clocks are aligned"
    if "origin" not in clock:
        return "the marks tell no time that the trace tells too, so they are not laid on it"
    by = f"laid on the trace's time by {clock.get('source', 'a clock that is not named')}"
    good = clock.get("uncertainty")
    return f"{by}, good to {duration(good)}" if isinstance(good, int) else by
