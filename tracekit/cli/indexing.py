"""`index`: one page about all runs of a folder."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli import options


def index(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder of runs.", file_okay=False)
    ] = Path("bench/traces"),
    *,
    open_page: options.OpenPage = False,
    force: options.Force = False,
) -> None:
    """Write a page about all runs of a folder.

    DIR/index.html lists them, the newest first: when, what, the verdict, the number that runs of
    its kind are followed by, and links to their pages. It is written anew each time.
    """
    from tracekit.base.outputs import writing
    from tracekit.cli import console
    from tracekit.fleet.index.scan import INDEX, write_index

    with writing([folder / INDEX], force=force):
        page = write_index(folder)
    console.show_file(page)
    if open_page:
        typer.launch(page.resolve().as_uri())
