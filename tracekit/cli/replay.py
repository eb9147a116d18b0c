"""`kernel replay`: a recorded dispatch run again on this machine, against its recorded result."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tracekit import app, lab, workload
from tracekit.base import InconclusiveError, units
from tracekit.cli import console, options
from tracekit.cli.options import argument, flag, option
from tracekit.cli.verify import Constant, Include, Lenient, TimeLimit

Capture = Annotated[Path, argument("X.gputrace", "GPU frame capture, or a run of one.")]
Dispatch = Annotated[
    int | None,
    typer.Option(min=0, help="Number of the dispatch, from 0.  [default: the only one]"),
]
Source = Annotated[
    Path | None,
    option("FILE.metal", "Source of the kernel.  [default: that in the capture]"),
]
Function = Annotated[str, option("NAME", "Kernel in the source.  [default: that of the dispatch]")]
Template = Annotated[str, option("ARGS", 'Template arguments: "float16_t, 128".')]
Partial = Annotated[
    bool, flag("--partial", "Accept a FILE.metal that leaves elements of its outputs unwritten.")
]
After = Annotated[
    bool,
    flag(
        "--after",
        "Recorded contents are of after the work, or the program had done the same work before: "
        "a difference counts.",
    ),
]
Bound = Annotated[
    float | None,
    typer.Option(min=0, help="Error allowed, relative.  [default: by the type of the output]"),
]


def replay(
    capture: Capture,
    *,
    dispatch: Dispatch = None,
    source: Source = None,
    function: Function = "",
    template: Template = "",
    constant: Constant = None,
    include: Include = None,
    partial: Partial = False,
    after: After = False,
    bound: Bound = None,
    lenient: Lenient = False,
    time_limit: TimeLimit = "60s",
    json: options.Json = False,
) -> None:
    """Run a dispatch of a GPU frame capture again, on any CPU.

    The kernel runs thread by thread with the recorded contents, sizes and bindings, in three orders
    of threads, with every access to a buffer checked. Its result is compared with the recorded
    contents, of which only counts and errors are shown. The source is compiled and run as a program
    of yours: replay captures that you trust.

    Contents that were recorded once may be of before the work, so a difference from them decides
    nothing without --after.

    Exit code 0: the result is the recorded one; 1: it differs, or there is a defect; 3: there is no
    compiler; 4: the capture does not decide it.
    """
    launch = lab.LaunchWords(
        function=function,
        template=template,
        constants=tuple(constant or ()),
        bound=bound,
        lenient=lenient,
        patience=workload.plan.seconds(time_limit),
        includes=tuple(include or ()),
    )
    choices = lab.replay.ReplayChoices(dispatch, source, partial, after, launch)
    with app.checking.reading_capture(capture) as bundle, console.progress("replay"):
        replayed = lab.replay.replay_dispatch(bundle, choices)
    # a zip file was read from a folder that is gone now
    replayed = replace(replayed, capture=str(capture))
    if json:
        console.show_json(replayed)
    else:
        _show(replayed)
    match replayed.outcome:
        case lab.replay.ReplayOutcome.AGREES:
            return
        case lab.replay.ReplayOutcome.UNDECIDED:
            raise InconclusiveError(replayed.verdict)
        case _:
            raise typer.Exit(1)


def _show(replayed: "lab.replay.DispatchReplay") -> None:
    console.show_line(f"dispatch {replayed.dispatch}: {replayed.function}, of {replayed.source}")
    if replayed.outcome is not lab.replay.ReplayOutcome.UNDECIDED:
        console.show_line(replayed.verdict)
    if replayed.reading:
        console.show_line(replayed.reading)
    for line in lab.replay.describe_verdicts(replayed.verdicts):
        console.show_line(line)
    console.table(
        ("argument", "elements", "written", "of these, dependent on earlier contents"),
        [
            (
                argument.name,
                f"{argument.elements:,}",
                f"{argument.written:,}",
                f"{argument.dependent:,}",
            )
            for argument in replayed.arguments
        ],
        headed=True,
    )
    console.table(
        ("buffer", "loaded", "stored", "touched"),
        [
            (moved.buffer, f"{moved.loaded:,}", f"{moved.stored:,}", f"{moved.touched:,}")
            for moved in replayed.traffic
        ],
        headed=True,
    )
    model = replayed.model
    if model is None:
        return
    if model.idle_groups:
        console.show_line(
            f"Idle threadgroups: {model.idle_groups:,} of {model.groups:,} return at once, without "
            "an access or a barrier."
        )
    parts = [f"{units.size(model.moved)} to move"]
    if model.operations is not None:
        parts.append(f"{model.operations:,} floating-point operations")
    if model.least_seconds is not None:
        least = units.duration(model.least_seconds * 1e9)
        parts.append(f"at least {least} on {model.chip}, by {model.limit}")
    console.show_line(f"Roofline: {', '.join(parts)}.")
    for reason in model.unknown:
        console.show_hint(reason)
