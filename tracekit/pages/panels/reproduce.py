"""The environment of a run, and the command lines to run it again."""

import shlex
from collections.abc import Iterator

from tracekit.analysis import Result
from tracekit.base import Provenance, Used, units
from tracekit.pages.panel import Context, Tables, panel
from tracekit.pages.text import flat

_RECORDERS = {"host", "xctrace"}


@panel("Environment and command lines")
def reproduce(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the environment and the command lines."""
    provenance = result.provenance
    machine = dict(provenance.machine)
    memory = machine.get("memory")
    if isinstance(memory, int):
        machine["memory"] = units.size(memory)
    command_lines = [shlex.join(line) for line in provenance.command_lines]
    facts = [(name, value or units.NOT_AVAILABLE) for name, value in _facts(provenance)]
    command = shlex.join(_command(provenance))
    parameters = list(flat(provenance.parameters))
    return {
        "command": command,
        "command_lines": command_lines,
        "facts": facts,
        "machine": list(flat(machine)),
        "parameters": parameters,
        "redacted": provenance.redacted,
    }


def _command(provenance: Provenance) -> tuple[str, ...]:
    """Return the command that makes such a run again; empty for a run made elsewhere."""
    if provenance.recorder not in _RECORDERS:
        return ()
    command = ["tracekit", "capture"]
    if provenance.workload:
        command += ["--workload", provenance.workload]
    elif not provenance.command:
        return ()
    command += provenance.arguments
    if provenance.workloads:
        command += ["--workloads", provenance.workloads]
    return tuple(command)


def _describe_used(used: Used) -> str:
    """Return the choices of the recorder in words."""
    words = [used.method, used.template or "no template"]
    if used.instruments:
        words.append(f"with {', '.join(used.instruments)}")
    if used.counters:
        words.append(f"counter set {used.counter_set or 'none'}")
    if used.counter_profile is not None:
        words.append(f"counter profile {used.counter_profile}")
    if used.time_limit is not None:
        words.append(f"limit of the recorder {used.time_limit:g} s")
    return ", ".join(words)


def _facts(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """Yield the facts of the recording; an empty one is unknown.

    A recording from elsewhere does not report everything, so a fact that it lacks is unknown.
    """
    is_ours = provenance.recorder not in {"", "import"}
    templates = ", ".join(provenance.templates)
    instruments = ", ".join(provenance.instruments)
    counters = ""
    time_limit = ""
    if is_ours:
        templates = templates or "none"
        instruments = instruments or "no others"
        counters = provenance.counters
        time_limit = "none"
    if provenance.time_limit is not None:
        time_limit = f"{provenance.time_limit:g} s"
    duration = ""
    if provenance.duration is not None:
        duration = f"{provenance.duration:g} s"
    yield "workload", provenance.workload or "none of tracekit's"
    name_and_version = f"{provenance.recorder} {provenance.recorder_version}"
    yield "recorder", name_and_version.strip()
    yield "templates", templates
    yield "instruments", instruments
    yield "counters", counters
    if provenance.used is not None:
        yield "used", _describe_used(provenance.used)
    yield "started", units.stamp(provenance.started)
    yield "ended", units.stamp(provenance.ended)
    yield "duration", duration
    yield "time limit", time_limit
    yield "git commit", provenance.git_commit
    yield "tracekit", provenance.tracekit
