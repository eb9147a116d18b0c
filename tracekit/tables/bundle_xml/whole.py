"""A whole run of a bundle as a folder of XML: its table of contents, and a file for each table."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.base.errors import InputError
from tracekit.base.files import replacing
from tracekit.tables.bundle.about.toc import listed, toc_of, write_toc
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.called import called
from tracekit.tables.bundle.container.store import Store, Unreadable
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.bundle_xml.meanings import Meanings, UnwritableError
from tracekit.tables.bundle_xml.table import inferred, write_table
from tracekit.tables.toc.export_files import Wanted, wanted
from tracekit.tables.toc.several import assumed, required
from tracekit.tables.toc.toc import TocRun

TOC_FILE = "toc.xml"
_SAFE_NAME = re.compile(r"[\w-][\w.-]{0,199}", re.ASCII)

# Which schemas to write, of those that are there; see `tracekit.pipeline.wanted_tables`.
Choose = Callable[[frozenset[str]], frozenset[str]]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Exported:
    """What was written of a bundle: the files, and in words what was not, or not surely."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


def write_exports(
    bundle: Bundle,
    folder: Path,
    choose: Choose,
    progress: Progress,
    number: int | None = None,
) -> Exported:
    """Write a run of a bundle as `xctrace export` would: its TOC, then a file for each table.

    Args:
        bundle: The bundle.
        folder: Where to; it may not hold anything yet.
        choose: Which tables. It is asked again without those that have no rows, for what can be
            read in their place.
        progress: Told what is being written.
        number: Which run, the last one if it is not said.

    Raises:
        UsageError: There is no such run.
        InputError: The folder holds something, or the bundle is damaged.
        RecordingError: Nothing can be written there.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already.", hint="Name another folder to write into.")
    run, toc_run = _run(bundle, number)
    progress("table of contents")
    write_toc(bundle, folder / TOC_FILE)
    schemas = _chosen(run, choose)
    meanings, tables = Meanings(run), wanted(toc_run, schemas)
    nameless = (one for one in run.tables if isinstance(one, Unreadable) and not one.schema)
    done = Exported((folder / TOC_FILE,), run.unchecked, tuple(one.left_out for one in nameless))
    for place, one in enumerate(tables, 1):
        progress(f"{one.file} ({place} of {len(tables)})")
        done = _with_table(done, run, one, folder, meanings)
    absent = sorted(schemas.difference(one.schema for one in listed(run)))
    lacking = [f"The recording has no table {name}." for name in absent]
    told = (*lacking, *done.warnings, *_unsure(run, schemas, meanings))
    if number is None:
        told = (*assumed(toc_of(bundle).runs, toc_run, called(bundle.path)), *told)
    return replace(done, warnings=tuple(dict.fromkeys(told)))


def _run(bundle: Bundle, number: int | None) -> tuple[BundleRun, TocRun]:
    toc_run = required(toc_of(bundle).runs, number, called(bundle.path))
    return next(run for run in bundle.runs if run.number == toc_run.number), toc_run


def _chosen(run: BundleRun, choose: Choose) -> frozenset[str]:
    tables = listed(run)
    there = frozenset(one.schema for one in tables)
    filled = frozenset(one.schema for one in tables if not isinstance(one, Store) or one.rows)
    return choose(there) | choose(filled)


def _with_table(
    done: Exported, run: BundleRun, one: Wanted, folder: Path, meanings: Meanings
) -> Exported:
    """Write a table; return what was done before, and this."""
    store, why = listed(run)[one.index - 1], ""
    try:
        if not isinstance(store, Store):
            return replace(done, damage=(*done.damage, _unwritten(one, store.why)))
        if _SAFE_NAME.fullmatch(store.schema):
            with replacing(folder / one.file) as file:
                write_table(file, run, store, one.index, meanings)
            return replace(done, files=(*done.files, folder / one.file))
        why = "its name can be no file's"
    except UnwritableError as error:
        why = str(error)
    except BundleError as error:
        return replace(done, damage=(*done.damage, _unwritten(one, error.message)))
    return replace(done, warnings=(*done.warnings, _unwritten(one, why)))


def _unwritten(one: Wanted, why: str) -> str:
    return f"The table {one.schema} is not written: {why.rstrip('.')}."


def _unsure(run: BundleRun, schemas: Iterable[str], meanings: Meanings) -> list[str]:
    """Say which columns were written by an encoding that no export was compared with."""
    unsure = dict.fromkeys(
        f"{store.schema} ({', '.join(columns)})"
        for store in run.stores
        if store.schema in schemas and (columns := inferred(store, meanings))
    )
    if not unsure:
        return []
    return [f"Columns whose form was never compared with an export: {', '.join(unsure)}."]
