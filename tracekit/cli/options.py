"""The options that several commands share, and the plan that a command line makes.

The options of `capture` and `record` come from three signatures: `declare_options`, the command's
own, and the function of the workload that the command line names.
"""

import functools
import inspect
import re
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracekit import tables
from tracekit.base import InputError, RecordingChoices, UsageError, choices
from tracekit.cli import completion
from tracekit.workload import Plan, Workload, find, plan

FileCommand = Callable[..., None]


def option(metavar: str, meaning: str, *names: str, **bounds: Any) -> Any:
    """Declare an option that takes a value; `names` are needed unless it has the parameter's."""
    return typer.Option(*names, metavar=metavar, help=meaning, **bounds)


def flag(name: str, meaning: str) -> Any:
    """Declare a switch."""
    return typer.Option(name, help=meaning)


def argument(metavar: str, meaning: str, **bounds: Any) -> Any:
    """Declare an argument."""
    return typer.Argument(metavar=metavar, help=meaning, **bounds)


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function as options, without the one with `**`."""
    options: list[inspect.Parameter] = []
    signature = inspect.signature(function, eval_str=True)
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            option_parameter = parameter.replace(kind=parameter.KEYWORD_ONLY)
            options.append(option_parameter)
    return options


def collect_options(
    function: Callable[..., Any], owner: str, file: Path, taken_names: Collection[str]
) -> list[inspect.Parameter]:
    """Return the options that a function in a user's `file` adds to a command.

    `owner` is its name in messages, such as "the workload paged"; `taken_names` are the options
    that the command has itself.
    """
    parameters = options_of(function)
    for parameter in parameters:
        if parameter.name in taken_names:
            hint = f"Give it another name in {file}."
            raise InputError(
                f"{owner[0].upper()}{owner[1:]} has a parameter {parameter.name!r}, which is an "
                "option of tracekit itself.",
                hint=hint,
            )
        if parameter.annotation is parameter.empty:
            raise _make_lack_error(parameter.name, "type", owner, file)
        if parameter.default is parameter.empty:
            raise _make_lack_error(parameter.name, "default", owner, file)
    return parameters


def _make_lack_error(name: str, missing_part: str, owner: str, file: Path) -> InputError:
    hint = f"Write it like `{name}: int = 1` in {file}."
    return InputError(
        f"The parameter {name!r} of {owner} lacks its {missing_part}.",
        hint=hint,
    )


def set_signature(wrapper: FileCommand, parameters: Sequence[inspect.Parameter]) -> FileCommand:
    """Give a wrapped command the signature that its options are read from."""
    vars(wrapper).pop("__wrapped__", None)
    wrapper.__signature__ = inspect.Signature(parameters)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


Workloads = Annotated[
    Path | None, option("DIR", "Folder with workloads of your own.", file_okay=False)
]
_STEPS = 30  # a spread within a run takes 20 steps
Output = Annotated[
    Path | None, option("DIR", "New folder for the run.  [default: bench/traces/TIME-NAME]")
]
GpuTrace = Annotated[
    bool, flag("--gputrace", "Capture a few steps for Xcode instead of recording; needs Metal.")
]
ExportedTables = Annotated[
    Literal["needed", "all", "none"] | None,
    typer.Option(
        help="Tables of xctrace to write as XML too.  [default: those not compared before]"
    ),
]
Inputs = Annotated[
    list[Path], argument("INPUT…", "Runs, bundles, zip files, exports or folders of exports.")
]
KeptOutput = Annotated[
    Path | None, option("DIR", "New folder for the run of an input.  [default: INPUT-run]")
]
Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
JsonSummary = Annotated[
    bool, flag("--json-summary", "Print at most 2 kB of JSON; --json=summary is the same.")
]
EvidenceNumber = Annotated[
    int | None, option("ID", "Print the windows of this finding alone.", "--evidence", min=1)
]
Target = Annotated[
    str | None,
    option("PID|NAME", "Process whose rows count.  [default: the TOC's, or the only plausible]"),
]
Captures = Annotated[
    list[str] | None, option("NAME", "Only this one; may be given again.", "--capture")
]
Subjects = Annotated[
    list[str] | None, option("NAME", "Only this one; may be given again.", "--subject")
]
NoRedact = Annotated[
    bool, flag("--no-redact", "Keep names of people and machines in result and page.")
]
Bisect = Annotated[
    bool, flag("--bisect", "Exit codes for git bisect run: 3 and 4 become 125, skip.")
]
OpenPage = Annotated[bool, flag("--open", "Open the page when it is done.")]
Queries = Annotated[int, typer.Option(min=1, max=65536, help="Tokens of a prompt, in prefill.")]
Rows = Annotated[int, typer.Option(min=1, max=65536, help="Rows of a layer: tokens.")]
Dims = Annotated[int, typer.Option(min=1, max=65536, help="Elements that go into a layer.")]
OutDims = Annotated[int, typer.Option(min=1, max=65536, help="Elements that come out.")]
Experts = Annotated[int, typer.Option(min=1, max=1024, help="Experts of a layer.")]
TopK = Annotated[int, typer.Option(min=1, max=1024, help="Experts of a row.")]
WarmupCalls = Annotated[int, option("N", "Calls before any counts.", min=1)]
Samples = Annotated[int, option("N", "Samples at most.", "--repeats", min=1)]
Force = Annotated[bool, flag("--force", "Replace files that tracekit did not write.")]
TablePlace = Annotated[
    int | None,
    option("N", "Number in the TOC, if several tables have one schema.", "--table", min=1),
]
RunNumber = Annotated[
    int | None, option("N", "Run to read, if a trace has several.", "--run", min=1)
]

Include = Annotated[
    str | None,
    option(
        "source,buffers",
        "Private parts of a GPU frame capture that become tables.  [default: none]",
        "--include",
    ),
]


def parts_of(include: str | None) -> tuple[str, ...]:
    """Return the parts that --include names; raise UsageError for an unknown one."""
    if include is None:
        return ()
    parts = tuple([part.strip() for part in include.split(",")])
    for part in parts:
        if part not in tables.captures.INCLUDABLE:
            raise UsageError(
                f"--include {include} names {part!r}.",
                hint=f"It takes {' and '.join(tables.captures.INCLUDABLE)}, separated by a comma.",
            )
    return parts


Read = Annotated[
    list[str] | None,
    option(
        "PATTERN",
        "Number that a program prints, NAME:UNIT:lower|higher:REGEX; may be given again.",
        "--read",
    ),
]


_SECTION = re.compile(r"[A-Z][a-z]+:\n\s")  # of a docstring, such as Args


Command = Annotated[list[str] | None, argument("-- COMMAND ARGS", "Record any program.")]
PlanOfWorkload = Annotated[
    str | None,
    option(
        "NAME",
        "Workload to run; its parameters follow.",
        "--workload",
        autocompletion=completion.complete_workload,
    ),
]
Attach = Annotated[int | None, option("PID", "Record a running process.", "--attach", min=1)]
Recorder = Annotated[
    choices.RecorderChoice,
    typer.Option(help="auto is xctrace if available, else host: this machine's CPU."),
]
Method = Annotated[
    choices.MethodChoice,
    typer.Option(help="How xctrace records a workload; attach leaves its warm-up out."),
]
Template = Annotated[
    list[str] | None,
    option(
        "NAME|FILE",
        "Template of Instruments; may be given again.  [default: Metal System Trace]",
    ),
]
Instrument = Annotated[
    list[str] | None,
    option("NAME", "Instrument to record besides the template; may be given again."),
]
Light = Annotated[
    bool,
    flag("--light", "Record the GPU's instruments alone: less is traced, and less is lost."),
]
Counters = Annotated[choices.CountersChoice, typer.Option(help="Whether to record GPU counters.")]
Telemetry = Annotated[
    choices.TelemetryChoice, typer.Option(help="Monitor of the machine's clock, power and heat.")
]
TimeLimit = Annotated[
    str | None,
    option(
        "TIME",
        "Longest time to record: 10s, 1500ms, 2m.  [default: 10s; on the host until 30 steps]",
    ),
]
Warmup = Annotated[int, option("N", "Steps without a new pipeline before recording.", min=0)]
After = Annotated[
    str | None,
    option("TIME", "Record a program from this time after its start; xctrace attaches to it."),
]
Repeats = Annotated[
    int | None, option("N", "Stop after N steady steps.  [default: time limit]", min=1)
]


def declare_options(
    *,
    command: Command = None,
    workload: PlanOfWorkload = None,
    attach: Attach = None,
    recorder: Recorder = "auto",
    method: Method = "auto",
    template: Template = None,
    instrument: Instrument = None,
    light: Light = False,
    counters: Counters = "auto",
    telemetry: Telemetry = "auto",
    time_limit: TimeLimit = None,
    warmup: Warmup = 5,
    after: After = None,
    repeats: Repeats = None,
    read: Read = None,
    output: Output = None,
    workloads: Workloads = None,
) -> None:
    """Declare the options that make a plan, under the names that `RecordingChoices` has for them.

    `plan_of` reads their values.
    """


def plan_of(**values: Any) -> Plan:
    """Return the plan that the values of the options ask for.

    Values that are not of `declare_options` are those of a workload's parameters.
    """
    workload = values.get("workload")
    command = values.get("command")
    if workload == plan.ANY_PROGRAM and not command:
        hint = f"tracekit capture --workload {plan.ANY_PROGRAM} -- PROGRAM ARGS"
        raise UsageError(
            f"--workload {plan.ANY_PROGRAM} needs the program to record.",
            hint=hint,
        )
    found_workload = None
    if workload and workload != plan.ANY_PROGRAM:
        found_workload = find(workload, values.get("workloads"))
    declared_names = inspect.signature(declare_options).parameters
    parameters = {
        name: _to_builtin(value) for name, value in values.items() if name not in declared_names
    }
    chosen_values = _read_choices(values)
    if values.get("light"):
        chosen_values |= _choose_light(chosen_values)
    step_count = 0
    if "time_limit" not in chosen_values:
        step_count = _STEPS
    return Plan(
        workload=found_workload,
        attach=values.get("attach"),
        output=values.get("output"),
        steps=step_count,
        parameters=parameters,
        command=tuple(command or ()),
        reads_input=True,
        **chosen_values,
    )


def _read_choices(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices that are made by options; those that are not given are left out.

    Of several values of one option, each counts once.
    """
    chosen_values: dict[str, Any] = {}
    for name, option in RecordingChoices.options():
        value = values.get(option.name)
        if value is None or value == []:
            continue
        if option.is_time:
            value = plan.seconds(value)
        elif isinstance(value, list):
            value = tuple(dict.fromkeys(value))
        chosen_values[name] = value
    return chosen_values


def _choose_light(chosen_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of --light: its instruments first, each once, without a template."""
    if "templates" in chosen_values:
        raise UsageError(
            "--light and --template contradict each other: --light records instruments alone.",
            hint="Leave one of them out.",
        )
    instrument_names = dict.fromkeys((*choices.LIGHT, *chosen_values.get("instruments", ())))
    return {"templates": (), "instruments": tuple(instrument_names)}


def add_plan_options(command: FileCommand, workload: Workload | None) -> FileCommand:
    """Return a command with the options of all three signatures, which passes a Plan on."""
    parameters = options_of(declare_options)
    command_names: list[str] = []
    for parameter in options_of(command):
        if parameter.name != "plan":
            parameters.append(parameter)
            command_names.append(parameter.name)
    if workload is not None:
        taken_names = {parameter.name for parameter in parameters}
        owner = f"the workload {workload.name}"
        parameters += collect_options(workload.prepare, owner, workload.file, taken_names)

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        command_values = {name: values.pop(name) for name in command_names}
        command(plan_of(**values), **command_values)

    if workload is not None:
        command_doc = inspect.getdoc(command)
        workload_doc = _describe(workload)
        wrapper.__doc__ = f"{command_doc}\n\n{workload_doc}"
    return set_signature(wrapper, parameters)


def _describe(workload: Workload) -> str:
    """Return the docstring of a workload without sections such as Args."""
    text = inspect.getdoc(workload.prepare) or "it has no description."
    parts = text.split("\n\n")
    paragraphs = [part for part in parts if not _SECTION.match(part)]
    further_text = "\n\n".join(paragraphs)
    return f"The workload {workload.name}: " + further_text


def named_workload(arguments: Sequence[str]) -> Workload | None:
    """Return the workload that a command line names with --workload, before it is parsed."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--workload", nargs="?")
    parser.add_argument("--workloads", nargs="?", type=Path)
    parsed_options, _ = parser.parse_known_args(arguments)  # words after -- are not options
    if parsed_options.workload in {None, plan.ANY_PROGRAM}:
        return None
    return find(parsed_options.workload, parsed_options.workloads)


def _to_builtin(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_to_builtin(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value
