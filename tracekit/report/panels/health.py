"""Can the capture be trusted? Warnings, overhead, stages, clocks, rows."""

from dataclasses import dataclass

from tracekit.analysis.result import Result
from tracekit.report.naming import flat
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.rows import of_target, rows
from tracekit.report.sources import of_table
from tracekit.tables.schemas import SCHEMAS

_COUNTED = (
    "phases",
    "steps",
    "submissions",
    "gpu_intervals",
    "encoders",
    "completions",
    "driver_intervals",
    "compiler_activity",
    "specializations",
)


@dataclass(frozen=True)
class Gate:
    """How many rows a table has; `own` is None for tables whose rows name no process."""

    table: str
    rows: int
    own: int | None
    source: str
    absence: str


def context(result: Result, tables: Tables) -> Context:
    """Collect what tells whether the numbers can be trusted."""
    provenance = result.provenance
    return {
        "warnings": provenance.warnings,
        "overhead": provenance.overhead,
        "stages": provenance.stages,
        "clock": list(flat(provenance.clock)),
        "end_reason": provenance.end_reason,
        "target_reason": provenance.target_reason,
        "targets": provenance.targets,
        "recorder": provenance.recorder,
        "capabilities": provenance.capabilities,
        "gates": [_gate(tables, name) for name in _COUNTED],
    }


def _gate(tables: Tables, name: str) -> Gate:
    found = rows(tables, name)
    if found.absence:
        return Gate(name, 0, None, "", found.absence)
    names_process = any(column.name == "target" for column in SCHEMAS[name].columns)
    own = len(of_target(tables, name).frame) if names_process else None
    return Gate(name, len(found.frame), own, of_table(tables, name), "")


health = Panel("health", "Capture health", context, reads=_COUNTED)
