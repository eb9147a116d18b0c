"""The options that several commands share, written once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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
    typer.Option(help="auto is xctrace where it is, else host: this machine's CPU."),
]
Template = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|PATH",
        help="Template of Instruments; may be given again.  [default: Metal System Trace]",
    ),
]
Counters = Annotated[
    Literal["auto", "on", "off"], typer.Option(help="GPU counters: ask for them or not.")
]
Telemetry = Annotated[
    Literal["auto", "macmon", "powermetrics", "ioreg", "off"],
    typer.Option(help="Who reads the machine's clock, power and heat beside the run."),
]
TimeLimit = Annotated[
    str, typer.Option(metavar="TIME", help="Longest time to record: 10s, 1500ms, 2m.")
]
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
    typer.Option(help="How xctrace gets at a workload; attach leaves its warm-up out."),
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
Json = Annotated[bool, typer.Option("--json", help="Print result.json instead of words.")]
NoRedact = Annotated[
    bool,
    typer.Option("--no-redact", help="Keep names of people and machines in result and page."),
]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page when it is done.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that tracekit did not make.")]
TablePlace = Annotated[
    int | None,
    typer.Option("--table", min=1, help="Place in the TOC, where several tables have one schema."),
]
RunNumber = Annotated[
    int | None, typer.Option("--run", min=1, help="Run to take, where a trace has several.")
]
