"""The environment of a run, and the command lines to run it again."""

import shlex
from collections.abc import Iterator
from typing import Any

from tracekit.analysis import Result
from tracekit.base import Provenance, Used, units
from tracekit.report.panel import Context, Tables, panel
from tracekit.report.text import flat
from tracekit.workload import plan

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
    options = tuple(_recording_options(provenance))
    if provenance.workload:
        parameter_options: list[str] = []
        for name, value in provenance.parameters.items():
            parameter_options += _option(name, value)
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
    method = "auto"
    if provenance.recorder == "xctrace":
        method = provenance.method
    time_limit = None
    if provenance.time_limit is not None:
        time_limit = f"{provenance.time_limit:g}s"
    after = None
    if provenance.after is not None:
        after = f"{provenance.after:g}s"
    instruments = list(provenance.instruments)
    is_light = bool(instruments) and not provenance.templates
    if is_light:
        instruments = [name for name in instruments if name not in plan.LIGHT]
    option_values = {
        "recorder": provenance.recorder,
        "method": method,
        "counters": provenance.counters,
        "telemetry": provenance.telemetry,
        "template": list(provenance.templates),
        "light": True if is_light else None,
        "instrument": instruments,
        "time_limit": time_limit,
        "after": after,
        "warmup": provenance.warmup,
        "repeats": provenance.repeats,
        "workloads": provenance.workloads or None,
    }
    for name, value in option_values.items():
        if value != "auto":
            yield from _option(name, value)


def _option(name: str, value: Any) -> tuple[str, ...]:
    """Return the arguments that set an option; a list repeats it, None leaves it out."""
    option = name.replace("_", "-")
    if value is None:
        return ()
    if isinstance(value, list):
        arguments: list[str] = []
        for item in value:
            arguments += _option(name, item)
        return tuple(arguments)
    if value is True:
        return (f"--{option}",)
    if value is False:
        return (f"--no-{option}",)
    return (f"--{option}", str(value))


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
