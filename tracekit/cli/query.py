"""`query` and `runs index`: SQL over every table of every run, and one page about all runs."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Literal

import typer

from tracekit import app, fleet
from tracekit.base import UsageError, files, outputs, units
from tracekit.cli import answers, console, options
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
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Write a page about all runs and benches of a folder.

    DIR/index.html lists them, the newest first: their time, work, verdict and main metric, and
    links to their pages. It is rewritten each time. --markdown RESULTS.md writes the same table for
    a repository.
    """
    is_printed = markdown == console.STDOUT
    if json and is_printed:
        raise UsageError("--json and --markdown - print two documents.", hint="Name a file.")
    index_files = [folder / fleet.index.INDEX]
    if markdown and not is_printed:
        index_files.append(markdown)
    with outputs.writing(index_files, force=force):
        page = fleet.index.write_index(folder)
        if is_printed:
            index_text = fleet.index.index_markdown(folder).rstrip("\n")
            console.show_line(index_text)
        elif markdown is not None:
            files.write_whole(markdown, fleet.index.index_markdown(folder).encode())
            console.show_written(markdown)
    if not is_printed:
        console.show_files(index_files if json else [page], json=json)
    if open_page:
        typer.launch(page.resolve().as_uri())


Sql = Annotated[str | None, argument("SQL", "One query, in DuckDB's SQL.")]
Sources = Annotated[
    list[Path] | None,
    argument(
        "[SOURCE…]",
        "Runs, folders of runs, batches, bundles, zip files, exports.  [default: bench/traces]",
    ),
]
Output = Annotated[
    str | None, option("FILE|-", "Write all rows: .parquet, .csv, .json, .arrow; - is stdout.")
]
Limit = Annotated[int | None, option("N", "Write the first N rows, with --output.", min=1)]
FormName = Literal["parquet", "csv", "json", "arrow"]
Form = Annotated[
    FormName | None,
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
    limit: Limit = None,
    rows: Rows = 20,
    run_number: options.RunNumber = None,
    list_: QueryList = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Query the tables of all runs in SQL.

    Every table that `tracekit tables` lists can be queried. It has the rows of all runs, and begins
    with the columns `run` and `run_path`. The tables `runs`, `metrics`, `findings`, `evidence`,
    `checks`, `gaps` and `batch_results` describe the runs themselves. Times are int64 nanoseconds.
    A table is made when a query first names it, and cached. Runs that lack it or cannot be read are
    left out, and named in a warning; if damage cost rows or names, the exit code is 3. The table
    `losses` lists the losses of all tables, and a query of it reads them all. If a bundle is not
    imported, its last run is read, or the one that --run names.

    A query can only read: it cannot write, change settings, load extensions or open files other
    than the tables of the given runs.
    """
    places = sources or []
    if list_:
        if sql:  # without a query the first argument is a source
            places = [Path(sql), *places]
        _list(places, run_number, json=json)
        return
    if sql is None:
        raise UsageError(
            "No query was given.",
            hint='tracekit query "select * from runs"; --list lists the tables.',
        )

    output, output_form = _choose_output(output, form, limit)
    output_files = _files_of(output, json=json)
    with (
        outputs.writing(output_files, places, force=force),
        console.progress("query") as progress,
        app.runs.asking(places, app.runs.InputChoices(run=run_number), progress) as asked_places,
        fleet.ask_runs(sql, asked_places, progress, run_number) as (answer, warnings),
    ):
        progress("asking")
        if output is not None and output_form is not None:
            _write(answer, output, output_form, limit)
            if output != _STDOUT:
                console.show_files([Path(output)], warnings, json=json)
        elif json:
            _show_json(answer, rows, warnings)
        else:
            _show(answer, rows)
        console.show_remarks(warnings)


_STDOUT = str(console.STDOUT)


def _choose_output(
    output: str | None, form: Form, limit: int | None
) -> tuple[str | None, FormName | None]:
    """Return the place of the rows and their format; both None if the rows are shown."""
    if form is not None and output is None:
        output = _STDOUT
    if output is None:
        if limit is not None:
            raise UsageError(
                "--limit is for --output.", hint="--rows is the number of rows that are shown."
            )
        return None, None
    return output, fleet.QueryResult.choose_form(output, form)


def _write(
    answer: "fleet.QueryResult", output: str, output_form: FormName, limit: int | None
) -> None:
    with console.open_output(Path(output)) as file:
        announce = _announce if output == _STDOUT else None
        answer.write(file, output_form, limit, announce)


_MANY = 10_000  # bytes from which a size is worth a remark


def _announce(size: int) -> None:
    """Say how large an answer is before it is printed."""
    if size > _MANY:
        console.show_hint(
            f"The answer has {units.size(size)}; --limit N prints the first N rows, and "
            "--output FILE writes a file."
        )


def _files_of(output: str | None, *, json: bool) -> list[Path]:
    """Return the file that an answer is written into, if it is one.

    Raises:
        UsageError: The answer and the document of --json would both be printed.
    """
    if json and output == _STDOUT:
        raise UsageError(
            "--json prints the first rows with their types; --format and --output - print all.",
            hint="Leave one of them out.",
        )
    if not output or output == _STDOUT:
        return []
    return [Path(output)]


def _show_json(answer: "fleet.QueryResult", rows: int, warnings: Sequence[str]) -> None:
    """Print the first rows as JSON, each value in its own type."""
    from msgspec import Raw

    content = BytesIO()
    answer.write(content, "json", rows)
    first_rows = Raw(content.getvalue())
    document = answers.TableRows(answer.types, first_rows, answer.count_rows(), tuple(warnings))
    console.show_json(document)


def _list(sources: list[Path], run_number: int | None, *, json: bool) -> None:
    choices = app.runs.InputChoices(run=run_number)
    with (
        console.progress("list") as progress,
        app.runs.asking(sources, choices, progress) as asked_places,
    ):
        views, warnings = fleet.listing(asked_places, progress, run_number)
    if json:
        tables = [
            answers.QueryableTable(name, run_count, tuple(columns))
            for name, run_count, columns in views
        ]
        console.show_json(answers.QueryableTables(tuple(tables), tuple(warnings)))
        return
    rows: list[tuple[str, str, str]] = []
    for name, run_count, columns in views:
        column_names = ", ".join(columns)
        rows.append((name, f"{run_count:,}", column_names))
    console.table(("table", "runs", "columns"), rows)
    console.show_remarks(warnings)


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
