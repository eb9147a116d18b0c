"""What `convert` makes of a bundle: one flat table, or a folder of all."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit.tables.place import Choice

_TABLES = ("parquet", "csv", "feather")


def convert_bundle(
    bundle: Path,
    output: Path | None,
    to: str | None,
    schema: str | None,
    choice: "Choice",
    *,
    force: bool,
) -> None:
    """Write the tables of a bundle, or the one that is named.

    Raises:
        UsageError: What was asked for makes no sense for a bundle.
        InputError: The bundle cannot be read, or not all of its tables.
    """
    from tracekit.base.errors import UsageError

    if to is not None and to not in _TABLES:
        raise UsageError(
            f"--to {to} converts a run, and {bundle} is a bundle.",
            hint=f"`tracekit import {bundle}` makes a run of it, without copying it.",
        )
    if to is not None and (schema is not None or choice.table is not None):
        raise UsageError(
            "--to writes all tables of a bundle; --schema and --table choose one.",
            hint="For one table, name the file to write instead of --to.",
        )
    if output is None:
        raise UsageError(
            "It is not said where to write.",
            hint="Name a folder with --to parquet, or a file with --schema.",
        )
    if to is None:
        _one(bundle, output, schema, choice, force=force)
    else:
        _all(bundle, output, f".{to}", choice.run, force=force)


def _one(bundle: Path, output: Path, schema: str | None, choice: "Choice", *, force: bool) -> None:
    from tracekit.base.errors import UsageError
    from tracekit.base.outputs import writing
    from tracekit.cli import console
    from tracekit.tables.convert import convert, files_of
    from tracekit.tables.place import Choice
    from tracekit.tables.raw import RawTables

    with writing(files_of(output), [bundle], force=force), console.progress("convert"):
        raw = RawTables(bundle, only=Choice(choice.run))
        if schema is None:
            raise UsageError(
                f"It is not said which table of {bundle} to write.",
                hint="Name it with --schema, or write all of them: --to parquet.",
            )
        one = raw.chosen(schema, choice)
        place = Choice(one.place.run, one.place.index)
        converted = convert(one.file, output, schema, place, toc=raw.toc)
    for file in converted.files:
        console.show_file(file)
    console.show_warnings((*raw.of_runs, *converted.damage, *converted.drift, *converted.remarks))


def _all(bundle: Path, folder: Path, suffix: str, run: int | None, *, force: bool) -> None:
    from tracekit.base.errors import InputError
    from tracekit.base.outputs import require_apart
    from tracekit.cli import console
    from tracekit.tables.unbundle import unbundle

    require_apart([folder], [bundle])
    with console.progress("convert") as progress:
        written = unbundle(bundle, folder, suffix, progress, run, force=force)
    console.show_file(folder)
    console.show_warnings(written.said)
    if written.lost:
        raise InputError(" ".join(written.lost), hint="All other tables were written.")
