"""`doctor` and `templates`: the recordings that this machine can make, and their templates."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from tracekit import record
from tracekit.base import InterruptedRunError, notes_folder
from tracekit.cli import console, options
from tracekit.cli.options import argument, flag, option
from tracekit.workload import METAL_SYSTEM_TRACE


def doctor(
    *,
    probe: Annotated[
        bool,
        flag("--probe", "Make a test recording of two seconds in each way, and keep the outcome."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Check whether this machine can record.

    Exit code 0: this machine can record; 3: something failed, and the fix is printed; 4: something
    that recording needs could not be determined.
    """
    folder = notes_folder()
    machine = record.DoctorSurroundings()
    fresh = None
    try:
        if probe:
            with console.progress("probe") as progress:
                fresh = record.probe_machine(machine, progress)
        with console.progress("examine") as progress:
            diagnosis = record.examine(machine, folder, progress, fresh)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("Interrupted; nothing is kept.") from stop
    console.show_diagnosis(diagnosis, json=json)
    raise typer.Exit(diagnosis.exit_code)


app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def templates(context: typer.Context, *, json: options.Json = False) -> None:
    """List templates; make one with counters on.

    The sections are those of `xctrace list templates`. No Xcode has a template for GPU counters:
    add an instrument that records them, or use a template file with a counter set.
    """
    if context.invoked_subcommand is not None:
        return

    overview = record.overview(record.xctrace_here(), Path.home())
    if json:
        console.show_json(overview)
        return
    rows: list[tuple[str, str]] = []
    for heading, names in overview.sections.items():
        rows += [(heading, name) for name in names]
    console.table(("section", "template"), rows)
    for remark in overview.remarks:
        console.show_hint(remark)


@app.command("make")
def make(
    output: Annotated[Path, argument("OUTPUT.tracetemplate", "New file to make.")],
    *,
    source: Annotated[str, option("PATH|NAME", "Template to copy.", "--from")] = METAL_SYSTEM_TRACE,
    counter_profile: Annotated[
        int | None, option("N", "Number of the counter set.", min=0, max=2**31 - 1)
    ] = None,
    shader_timeline: Annotated[
        Literal["on", "off"] | None, typer.Option(help="Whether to sample shaders.")
    ] = None,
    do_write: Annotated[
        bool, flag("--write", "Write the file instead of listing the changes.")
    ] = False,
) -> None:
    """Copy a template with counters switched on.

    Without --write this is a dry run that lists every change. The source is never changed, and no
    file is overwritten. The number of a counter set depends on the chip, and Apple does not
    document it: only a recording shows whether yours works. To choose one by hand, for any chip:
    Recording Options > GPU > Counter Set in Instruments, then File > Save As Template.
    """
    timeline = None
    if shader_timeline is not None:
        timeline = shader_timeline == "on"
    changes, content = record.draft(_source_file(source), output, counter_profile, timeline)
    if do_write:
        console.show_line(record.write(output, content))
        console.show_hint(f"Record with it: tracekit capture --template {shlex.quote(str(output))}")
        return
    rows = [(change.place, repr(change.old_value), repr(change.new_value)) for change in changes]
    console.table(("place", "is", "will be"), rows)
    console.show_hint("Nothing was written; --write makes the file.")


def _source_file(source: str) -> Path:
    """Return the template file to copy: a path, or a name in the folders of templates."""
    if "/" in source or source.endswith(record.SUFFIX):
        return Path(source).expanduser()
    tool = record.find_xctrace()
    files = record.template_files(Path.home(), tool.path if tool else "")
    return record.template_file(source, files)
