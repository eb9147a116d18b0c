"""`demo`: the pages of packaged recordings, without a Mac and without a network."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit import analysis, app, fleet
from tracekit.cli import console, options
from tracekit.cli.options import argument, option

Names = Annotated[list[str] | None, argument("[NAME…]", "Packaged recordings.  [default: all]")]
Output = Annotated[Path, option("DIR", "Folder for the pages.")]


def demo(
    names: Names = None,
    *,
    output: Output = Path("tracekit-demo"),
    open_page: options.OpenPage = False,
    json: options.Json = False,
) -> None:
    """Make the pages of packaged recordings, without a Mac and without a network.

    The recordings were made by tracekit's generator, each after the figures of a public thread that
    its page names. They are read, judged and drawn as any other input: churn (pipelines compiled in
    the loop), bubbles (the device waits for the host), low-occupancy, boundaries (a command buffer
    for each dispatch), and healthy. An index lists all of them.
    """
    with console.progress("demo") as progress:
        recordings = app.demo.make_demos(output, names or (), progress)
    index = output / fleet.index.INDEX
    pages = [recording.report_file for recording in recordings]
    if json:
        console.show_files([*pages, index], json=True)
    else:
        for recording in recordings:
            result = analysis.Result.load(recording.result_file)
            console.show_line(recording.report_file)
            console.show_named_lines(app.summary.summarize(result).lines)
            console.show_line("")
        console.show_line(index)
    if open_page:
        typer.launch(index.resolve().as_uri())
