"""Whether the capture can be trusted: its end, its cost, and the gaps of its tables."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tracekit.analysis import Result, used_tables
from tracekit.base import Provenance, units
from tracekit.pages.panel import Context, Tables, of_table, of_target, panel, rows
from tracekit.pages.text import flat
from tracekit.tables import SCHEMAS


@dataclass(frozen=True)
class Gate:
    """The number of rows of a table, of whatever process; None without a table.

    `own` of them are the target's, None for tables whose rows name no process. `source` is the
    origin of its times, `absence` the reason why there are no rows.
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
        number = None
        with suppress(Exception):  # its absence names any reason why it cannot be read
            if tables[name].empty:
                number = 0
        return Gate(name, number, absence=table_rows.absence)
    target_rows = None
    are_targets = [column.name == "target" for column in SCHEMAS[name].columns]
    if any(are_targets):
        target_rows = len(of_target(tables, name).frame)
    row_count = len(table_rows.frame)
    source = of_table(tables, name)
    return Gate(name, row_count, target_rows, source)


_SET = "Counter Set: "
_NO_SET = ("", "(null)")
_MARKS = ("phases", "steps")


@panel("Capture health", "gpu_counters", opens_on=())
def health(result: Result, tables: Tables) -> Context:
    """Collect the facts that decide whether the numbers can be trusted."""
    provenance = result.provenance
    table_gates = gates(tables)  # this reads the tables whose losses are listed next
    losses = _list_losses(tables)
    new_losses = [text for text in losses if text not in provenance.warnings]
    facts = list(_facts(provenance, tables))
    clock = list(flat(provenance.clock))
    return {
        "warnings": provenance.warnings,
        "losses": new_losses,
        "facts": facts,
        "overhead": provenance.overhead,
        "stages": provenance.stages,
        "clock": clock,
        "target_reason": provenance.target_reason,
        "targets": provenance.targets,
        "recorder": provenance.recorder,
        "capabilities": provenance.capabilities,
        "gates": table_gates,
        "gist": _count_warnings(len(provenance.warnings) + len(new_losses)),
        **_sort_gates(table_gates),
    }


def _count_warnings(number: int) -> str:
    if not number:
        return "no warnings"
    return f"{number} warning{'' if number == 1 else 's'}"


def _list_losses(tables: Tables) -> list[str]:
    """Return the reported losses, each once; the order in which tables were read shows nowhere."""
    frame = rows(tables, "losses").frame
    if frame.empty:
        return []
    texts = frame["text"].dropna().astype(str)
    return sorted(set(texts))


def _sort_gates(table_gates: list[Gate]) -> dict[str, list[Gate]]:
    """Sort tables by their rows: of the target, of other processes only, none, or no table."""
    groups: dict[str, list[Gate]] = {"filled": [], "foreign": [], "empty": [], "missing": []}
    for gate in table_gates:
        if gate.rows is None:
            groups["missing"].append(gate)
        elif gate.rows == 0:
            groups["empty"].append(gate)
        elif gate.empty:
            groups["foreign"].append(gate)
        else:
            groups["filled"].append(gate)
    return groups


def _facts(provenance: Provenance, tables: Tables) -> Iterator[tuple[str, str]]:
    end = provenance.end_reason or "the recording does not say why"
    if provenance.duration is not None:
        end = f"{end}, after {units.duration(provenance.duration * 1e9)}"
    yield "Ended", end
    if provenance.templates:
        yield "Template", ", ".join(provenance.templates)
    yield "Counter Set", counter_set(provenance, tables)
    has_marks = any(not rows(tables, name).absence for name in _MARKS)
    yield "Clock of the marks", clock_words(provenance, marked=has_marks)


def counter_set(provenance: Provenance, tables: Tables) -> str:
    """Return the set of GPU counters that was recorded, and the number of its samples."""
    if provenance.recorder == "host":
        return "none: the host recorder sees no GPU"
    set_names = _find_counter_sets(tables)
    counters = rows(tables, "gpu_counters")
    number = "no"
    if not counters.absence:
        number = units.count(len(counters.frame))
    return f"{set_names}; {number} samples of counters"


def _find_counter_sets(tables: Tables) -> str:
    settings = rows(tables, "settings")
    if settings.absence:
        return "not known, because no table of contents of the recording names it"
    set_names: list[str] = []
    for line in settings.frame["setting"].dropna().astype(str):
        set_name = line.removeprefix(_SET)
        if line.startswith(_SET) and set_name not in (*_NO_SET, *set_names):
            set_names.append(set_name)
    return ", ".join(set_names) or "none is switched on"


def clock_words(provenance: Provenance, *, marked: bool) -> str:
    """Return how the workload's marks were laid on the trace's time."""
    clock = provenance.clock
    if provenance.recorder == "host":
        return "the marks and the samples are of one clock of the host"
    if not clock and not marked:
        return "there are no marks: no workload reported its phases or steps"
    if not clock:
        return "not known: the recording does not say how its clocks are aligned"
    if "origin" not in clock:
        return "the marks tell no time that the trace tells too, so they are not laid on it"
    source = clock.get("source", "a clock that is not named")
    words = f"laid on the trace's time by {source}"
    uncertainty = clock.get("uncertainty")
    if isinstance(uncertainty, int):
        return f"{words}, good to {units.duration(uncertainty)}"
    return words
