"""Where it ran, and the command lines to run it again."""

import shlex
from collections.abc import Iterator

from tracekit.analysis.result import Result
from tracekit.recording import Provenance
from tracekit.report.naming import flat
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.units import NOT_AVAILABLE


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the environment and the command lines."""
    provenance = result.provenance
    return {
        "command": shlex.join(provenance.command),
        "command_lines": [shlex.join(line) for line in provenance.command_lines],
        "facts": [(name, value or NOT_AVAILABLE) for name, value in _facts(provenance)],
        "machine": list(flat(provenance.machine)),
        "parameters": list(flat(provenance.parameters)),
        "redacted": provenance.redacted,
    }


def _facts(provenance: Provenance) -> Iterator[tuple[str, str]]:
    yield "workload", provenance.workload
    yield "recorder", f"{provenance.recorder} {provenance.recorder_version}".strip()
    yield "templates", ", ".join(provenance.templates)
    if provenance.instruments:
        yield "instruments", ", ".join(provenance.instruments)
    yield "counters", provenance.counters
    yield "started", provenance.started
    yield "ended", provenance.ended
    yield "duration", "" if provenance.duration is None else f"{provenance.duration:g} s"
    yield "time limit", "" if provenance.time_limit is None else f"{provenance.time_limit:g} s"
    yield "git commit", provenance.git_commit
    yield "tracekit", provenance.tracekit


reproduce = Panel("reproduce", "Environment and command lines", context)
