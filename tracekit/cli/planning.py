"""From a command line to a plan: what `capture` and `record` have in common.

The options of these two commands come from three signatures: `plan_of`, the command's own, and
the function of the workload that the command line names.
"""

import functools
import inspect
import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from tracekit.base.errors import UsageError
from tracekit.cli import options
from tracekit.cli.signatures import FileCommand, brought, options_of, signed
from tracekit.workload.plan import ANY_PROGRAM, METAL_SYSTEM_TRACE, Plan, seconds
from tracekit.workload.workload import Workload, find

_SECTION = re.compile(r"[A-Z][a-z]+:\n\s")


def plan_of(
    *,
    command: options.Command = None,
    workload: options.WorkloadName = None,
    attach: options.AttachPid = None,
    recorder: options.RecorderName = "auto",
    method: options.Method = "auto",
    template: options.Template = None,
    counters: options.Counters = "auto",
    telemetry: options.Telemetry = "auto",
    time_limit: options.TimeLimit = "10s",
    warmup: options.Warmup = 5,
    repeats: options.Repeats = None,
    output: options.Output = None,
    workloads: options.Workloads = None,
    **parameters: Any,
) -> Plan:
    """Return the plan that a command line asks for."""
    if workload == ANY_PROGRAM and not command:
        raise UsageError(
            f"--workload {ANY_PROGRAM} needs the program to record.",
            hint=f"tracekit capture --workload {ANY_PROGRAM} -- PROGRAM ARGS",
        )
    named = workload if workload != ANY_PROGRAM else None
    return Plan(
        workload=find(named, workloads) if named else None,
        parameters={name: _plain(value) for name, value in parameters.items()},
        command=tuple(command or ()),
        attach=attach,
        recorder=recorder,
        method=method,
        templates=tuple(template or (METAL_SYSTEM_TRACE,)),
        counters=counters,
        telemetry=telemetry,
        time_limit=seconds(time_limit),
        warmup=warmup,
        repeats=repeats,
        output=output,
    )


def planned(command: FileCommand, workload: Workload | None) -> FileCommand:
    """Return a command that takes all three signatures' options and hands over a Plan."""
    of_plan = options_of(plan_of)
    own = [one for one in options_of(command) if one.name != "plan"]
    added = _of_workload(workload, {one.name for one in [*of_plan, *own]}) if workload else []

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        kept = {one.name: values.pop(one.name) for one in own}
        command(plan_of(**values), **kept)

    if workload is not None:
        wrapper.__doc__ = f"{inspect.getdoc(command)}\n\n{_described(workload)}"
    return signed(wrapper, [*of_plan, *own, *added])


def _described(workload: Workload) -> str:
    """Return what a workload says of itself, without sections such as Args."""
    told = inspect.getdoc(workload.prepare) or "it does not say what it does."
    paragraphs = [one for one in told.split("\n\n") if not _SECTION.match(one)]
    return f"The workload {workload.name}: " + "\n\n".join(paragraphs)


def _of_workload(workload: Workload, taken: set[str]) -> list[inspect.Parameter]:
    return brought(workload.prepare, f"the workload {workload.name}", workload.file, taken)


def named_workload(arguments: Sequence[str]) -> Workload | None:
    """Return the workload that a command line names with --workload, before it is parsed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    name = _value_of("--workload", arguments[:end])
    folder = _value_of("--workloads", arguments[:end])
    if name is None or name == ANY_PROGRAM:
        return None
    return find(name, Path(folder) if folder else None)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    values = [one.partition("=")[2] for one in arguments if one.startswith(f"{option}=")]
    values += [value for name, value in pairwise(arguments) if name == option]
    return values[-1] if values else None
