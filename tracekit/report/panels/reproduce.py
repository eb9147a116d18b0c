"""Where it ran, and the command lines to run it again."""

import shlex
from collections.abc import Iterator
from typing import Any

from tracekit.analysis import Result
from tracekit.base import NOT_AVAILABLE, Provenance, size, stamp
from tracekit.report.panel import Context, Tables, panel
from tracekit.report.text import flat

_RECORDERS = {"host", "xctrace"}


@panel("Environment and command lines")
def reproduce(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the environment and the command lines."""
    provenance = result.provenance
    memory = provenance.machine.get("memory")
    in_words = {"memory": size(memory)} if isinstance(memory, int) else {}
    machine = {**provenance.machine, **in_words}
    return {
        "command": shlex.join(_command(provenance)),
        "command_lines": [shlex.join(line) for line in provenance.command_lines],
        "facts": [(name, value or NOT_AVAILABLE) for name, value in _facts(provenance)],
        "machine": list(flat(machine)),
        "parameters": list(flat(provenance.parameters)),
        "redacted": provenance.redacted,
    }


def _command(provenance: Provenance) -> tuple[str, ...]:
    """Return the command that makes such a run again; empty where the run was made elsewhere."""
    if provenance.recorder not in _RECORDERS:
        return ()
    options = tuple(_recording_options(provenance))
    if provenance.workload:
        parameter_options = [
            part for pair in provenance.parameters.items() for part in _option(*pair)
        ]
        return (
            "tracekit",
            "capture",
            "--workload",
            provenance.workload,
            *parameter_options,
            *options,
        )
    if provenance.command:
        return ("tracekit", "capture", *options, "--", *provenance.command)
    return ()


def _recording_options(provenance: Provenance) -> Iterator[str]:
    limit = provenance.time_limit
    option_values = {
        "recorder": provenance.recorder,
        "method": provenance.method if provenance.recorder == "xctrace" else "auto",
        "counters": provenance.counters,
        "telemetry": provenance.telemetry,
        "template": list(provenance.templates),
        "time_limit": None if limit is None else f"{limit:g}s",
        "warmup": provenance.warmup,
        "repeats": provenance.repeats,
        "workloads": provenance.workloads or None,
    }
    for name, value in option_values.items():
        if value != "auto":
            yield from _option(name, value)


def _option(name: str, value: Any) -> tuple[str, ...]:
    option = name.replace("_", "-")
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(part for item in value for part in _option(name, item))
    if isinstance(value, bool):
        return (f"--{option}" if value else f"--no-{option}",)
    return (f"--{option}", str(value))


def _facts(provenance: Provenance) -> Iterator[tuple[str, str]]:
    limit = provenance.time_limit
    ours = provenance.recorder not in {"", "import"}  # of others' recordings none means unknown
    yield "workload", provenance.workload or "none of tracekit's"
    yield "recorder", f"{provenance.recorder} {provenance.recorder_version}".strip()
    yield "templates", ", ".join(provenance.templates) or ("none" if ours else "")
    yield "instruments", ", ".join(provenance.instruments) or ("no others" if ours else "")
    yield "counters", provenance.counters if ours else ""
    yield "started", stamp(provenance.started)
    yield "ended", stamp(provenance.ended)
    yield "duration", "" if provenance.duration is None else f"{provenance.duration:g} s"
    yield "time limit", ("none" if ours else "") if limit is None else f"{limit:g} s"
    yield "git commit", provenance.git_commit
    yield "tracekit", provenance.tracekit
