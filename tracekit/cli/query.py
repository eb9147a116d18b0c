"""`query` and `runs index`: SQL over every table of every run, and one page about all runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tracekit import fleet
from tracekit.base import UsageError, outputs, write_whole
from tracekit.cli import console, options
from tracekit.cli.options import argument, flag, option

Folder = Annotated[Path, argument("[DIR]", "Folder of runs.", file_okay=False)]
Markdown = Annotated[
    Path | None, option("FILE|-", "Write a table in Markdown as well, or print it.")
]


def index(
    folder: Folder = Path("bench/traces"),
    *,
    markdown: Markdown = None,
    open_page: options.OpenPage = False,
    force: options.Force = False,
) -> None:
    """Write a page about all runs and benches of a folder.

    DIR/index.html lists them, the newest first: their time, work, verdict and main metric, and
    links to their pages. It is rewritten each time. --markdown RESULTS.md writes the same table for
    a repository.
    """
    files = [folder / fleet.INDEX]
    if markdown and markdown != console.STDOUT:
        files.append(markdown)
    with outputs.writing(files, force=force):
        page = fleet.write_index(folder)
        if markdown == console.STDOUT:
            index_text = fleet.index_markdown(folder).rstrip("\n")
            console.show_line(index_text)
        elif markdown is not None:
            write_whole(markdown, fleet.index_markdown(folder).encode())
            console.show_written(markdown)
    if markdown != console.STDOUT:
        console.show_line(page)
    if open_page:
        typer.launch(page.resolve().as_uri())


Sql = Annotated[str | None, argument("SQL", "One query, in DuckDB's SQL.")]
Sources = Annotated[
    list[Path] | None,
    argument("[SOURCE…]", "Runs, folders of runs, batches, bundles.  [default: bench/traces]"),
]
Output = Annotated[
    str | None, option("FILE|-", "Write all rows: .parquet, .csv, .json; - is stdout.")
]
Form = Annotated[
    Literal["parquet", "csv", "json"] | None,
    typer.Option("--format", help="Format, if FILE's extension does not give it."),
]
Rows = Annotated[int, option("N", "Rows to show.", min=1)]
QueryList = Annotated[bool, flag("--list", "List the tables, and how many runs have them.")]


def query(
    sql: Sql = None,
    sources: Sources = None,
    *,
    output: Output = None,
    form: Form = None,
    rows: Rows = 20,
    run_number: options.RunNumber = None,
    list_: QueryList = False,
    force: options.Force = False,
) -> None:
    """Query the tables of all runs in SQL.

    Every table that `tracekit tables` lists can be queried. It has the rows of all runs, and begins
    with the columns `run` and `run_path`. The tables `runs`, `metrics`, `findings` and
    `batch_results` describe the runs themselves. Times are int64 nanoseconds. A table is made when
    a query first names it, and cached. Runs that lack it or cannot be read are left out, and named
    in a warning; if damage cost rows or names, the exit code is 3. The table `losses` lists the
    losses of all tables, and a query of it reads them all. If a bundle is not imported, its last
    run is read, or the one that --run names.

    A query can only read: it cannot write, change settings, load extensions or open files other
    than the tables of the given runs.
    """
    places = sources or []
    if list_:
        if sql:  # without a query the first argument is a source
            places = [Path(sql), *places]
        _list(places, run_number)
        return
    if sql is None:
        raise UsageError(
            "No query was given.",
            hint='tracekit query "select * from runs"; --list lists the tables.',
        )

    if form is not None and output is None:
        output = str(console.STDOUT)
    files: list[Path] = []
    output_form = None
    if output is not None:
        output_form = fleet.form_of(output, form)
        if output and output != str(console.STDOUT):
            files.append(Path(output))
    with (
        outputs.writing(files, places, force=force),
        console.progress("query") as progress,
        fleet.ask_runs(sql, places, progress, run_number) as (answer, warnings),
    ):
        progress("asking")
        if output is not None and output_form is not None:
            with console.open_output(Path(output)) as file:
                answer.write(file, output_form)
            if output != str(console.STDOUT):
                console.show_line(output)
        else:
            _show(answer, rows)
        console.show_warnings(warnings)


def _list(sources: list[Path], run_number: int | None) -> None:
    with console.progress("list") as progress:
        views, warnings = fleet.listing(sources, progress, run_number)
    rows: list[tuple[str, str, str]] = []
    for name, run_count, columns in views:
        column_names = ", ".join(columns)
        rows.append((name, f"{run_count:,}", column_names))
    console.table(("table", "runs", "columns"), rows)
    console.show_warnings(warnings)


def _show(answer: "fleet.QueryResult", rows: int) -> None:
    short = console.looked_at()
    shown_rows, total = answer.fetch_first_rows(rows, short=short)
    columns = list(answer.types)
    console.table(columns, shown_rows, headed=True)
    if total > len(shown_rows):
        console.show_hint(
            f"{total - len(shown_rows):,} more rows of {total:,}; --rows shows more, "
            "--output FILE writes all."
        )
