"""The options that several commands share, and the plan that a command line makes.

The options of `capture` and `record` come from three signatures: `plan_of`, the command's own, and
the function of the workload that the command line names.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracekit.base import InputError, UsageError
from tracekit.workload import ANY_PROGRAM, METAL_SYSTEM_TRACE, Plan, Workload, find, seconds

FileCommand = Callable[..., None]


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function as options; what it takes by `**` is none."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    return [one.replace(kind=one.KEYWORD_ONLY) for one in named]


def brought(
    function: Callable[..., Any], owner: str, file: Path, taken: Collection[str]
) -> list[inspect.Parameter]:
    """Return the options that a function in somebody's file brings to a command.

    Args:
        function: The function.
        owner: What messages call it, such as "the workload paged".
        file: Where it stands.
        taken: The options that the command has itself.
    """
    parameters = options_of(function)
    for parameter in parameters:
        if parameter.name in taken:
            raise InputError(
                f"{owner[0].upper()}{owner[1:]} has a parameter {parameter.name!r}, which is an "
                "option of tracekit itself.",
                hint=f"Give it another name in {file}.",
            )
        if parameter.annotation is parameter.empty or parameter.default is parameter.empty:
            lacking = "type" if parameter.annotation is parameter.empty else "default"
            raise InputError(
                f"The parameter {parameter.name!r} of {owner} lacks its {lacking}.",
                hint=f"Write it like `{parameter.name}: int = 1` in {file}.",
            )
    return parameters


def signed(wrapper: FileCommand, parameters: Sequence[inspect.Parameter]) -> FileCommand:
    """Give a wrapped command the signature that its options are read from."""
    vars(wrapper).pop("__wrapped__", None)
    wrapper.__signature__ = inspect.Signature(parameters)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


WorkloadName = Annotated[
    str | None,
    typer.Option("--workload", metavar="NAME", help="Workload to run; its parameters follow."),
]
Workloads = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder with workloads of your own.", file_okay=False),
]
RecorderName = Annotated[
    Literal["auto", "xctrace", "host"],
    typer.Option(help="auto is xctrace if available, else host: this machine's CPU."),
]
Template = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|PATH",
        help="Template of Instruments; may be given again.  [default: Metal System Trace]",
    ),
]
Counters = Annotated[
    Literal["auto", "on", "off"], typer.Option(help="Whether to record GPU counters.")
]
Telemetry = Annotated[
    Literal["auto", "macmon", "powermetrics", "ioreg", "off"],
    typer.Option(help="Monitor of the machine's clock, power and heat."),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Longest time to record: 10s, 1500ms, 2m.  [default: 10s; on the host until 30 steps]",
    ),
]
_TIME_LIMIT, _STEPS = "10s", 30  # a spread within a run takes 20 steps
Warmup = Annotated[
    int, typer.Option(min=0, metavar="N", help="Steps without a new pipeline before recording.")
]
Repeats = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Stop after N steady steps.  [default: time limit]"),
]
Output = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="New folder for the run.  [default: bench/traces/TIME-NAME]"),
]
AttachPid = Annotated[
    int | None, typer.Option("--attach", min=1, metavar="PID", help="Record a running process.")
]
Method = Annotated[
    Literal["auto", "launch", "attach"],
    typer.Option(help="How xctrace records a workload; attach leaves its warm-up out."),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND ARGS", help="Record any program.", show_default=False),
]
GpuTrace = Annotated[
    bool,
    typer.Option(
        "--gputrace", help="Capture a few steps for Xcode instead of recording; needs Metal."
    ),
]
ExportedTables = Annotated[
    Literal["needed", "all", "none"] | None,
    typer.Option(
        help="Tables of xctrace to write as XML too.  [default: those not compared before]",
        show_default=False,
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Target = Annotated[
    str | None,
    typer.Option(metavar="PID|NAME", help="Process whose rows count.  [default: the TOC's]"),
]
Captures = Annotated[
    list[str] | None,
    typer.Option("--capture", metavar="NAME", help="Only this one; may be given again."),
]
Subjects = Annotated[
    list[str] | None,
    typer.Option("--subject", metavar="NAME", help="Only this one; may be given again."),
]
NoRedact = Annotated[
    bool,
    typer.Option("--no-redact", help="Keep names of people and machines in result and page."),
]
Bisect = Annotated[
    bool,
    typer.Option("--bisect", help="Exit codes for git bisect run: 3 and 4 become 125, skip."),
]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page when it is done.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that tracekit did not write.")]
TablePlace = Annotated[
    int | None,
    typer.Option(
        "--table", min=1, metavar="N", help="Number in the TOC, if several tables have one schema."
    ),
]
RunNumber = Annotated[
    int | None,
    typer.Option("--run", min=1, metavar="N", help="Run to read, if a trace has several."),
]


_SECTION = re.compile(r"[A-Z][a-z]+:\n\s")


def plan_of(
    *,
    command: Command = None,
    workload: WorkloadName = None,
    attach: AttachPid = None,
    recorder: RecorderName = "auto",
    method: Method = "auto",
    template: Template = None,
    counters: Counters = "auto",
    telemetry: Telemetry = "auto",
    time_limit: TimeLimit = None,
    warmup: Warmup = 5,
    repeats: Repeats = None,
    output: Output = None,
    workloads: Workloads = None,
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
        time_limit=seconds(time_limit or _TIME_LIMIT),
        steps=0 if time_limit else _STEPS,
        warmup=warmup,
        repeats=repeats,
        output=output,
    )


def planned(command: FileCommand, workload: Workload | None) -> FileCommand:
    """Return a command that takes all three signatures' options and hands over a Plan."""
    of_plan = options_of(plan_of)
    own = [parameter for parameter in options_of(command) if parameter.name != "plan"]
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
    text = inspect.getdoc(workload.prepare) or "it does not say what it does."
    paragraphs = [part for part in text.split("\n\n") if not _SECTION.match(part)]
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
    """Return the value that an option is given last, as `--option VALUE` or `--option=VALUE`."""
    found: str | None = None
    for word, following in zip_longest(arguments, arguments[1:]):
        if word == option:
            found = following
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found
