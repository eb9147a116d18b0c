"""All tables of a bundle as files of another kind."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.outputs import writing
from tracekit.tables.bundle.cells.notes import gathered
from tracekit.tables.convert import convert, files_of
from tracekit.tables.exports import ExportIndex, index
from tracekit.tables.listed import Listed
from tracekit.tables.one_run import of_one_run
from tracekit.tables.place import Choice


@dataclass(frozen=True)
class Unbundled:
    """What became of a bundle's tables.

    Attributes:
        files: What was written: tables, and the stacks beside them.
        said: What is to be known of tables that were written.
        lost: Which tables could not be read, and why.
    """

    files: tuple[Path, ...]
    said: tuple[str, ...]
    lost: tuple[str, ...]


def unbundle(
    bundle: Path,
    folder: Path,
    suffix: str,
    progress: Callable[[str], None],
    run: int | None = None,
    *,
    force: bool = False,
) -> Unbundled:
    """Write every table of a bundle as a flat one, under the name of its schema.

    Where a schema occurs again, its tables are called NAME-2, NAME-3 and so on, in the order of the
    table of contents. Of several runs, each has a folder `run1`, `run2` of its own, unless one of
    them is named.

    Args:
        bundle: The bundle.
        folder: Where to write; it is made.
        suffix: The format: .parquet, .csv or .feather.
        progress: Told which table is written.
        run: The only run to write; None for all.
        force: Whether files of the same names are replaced that tracekit did not make.

    Raises:
        UsageError: There is such a file, or no such run.
        InputError: The bundle is damaged, or of a layout that is not known.
        RecordingError: The files cannot be written.
    """
    found = index(bundle)
    if run is not None:
        found = of_one_run(found, bundle, Choice(run)).index
    tables = [one for listed in found.tables.values() for one in listed]
    outputs = [
        (one, folder / f"{name}{suffix}") for one, name in _named(tables) if not one.unreadable
    ]
    every = [file for _, output in outputs for file in files_of(output)]
    with writing(every, [bundle], force=force):
        return _written(found, outputs, progress)


def _written(
    found: ExportIndex, outputs: Iterable[tuple[Listed, Path]], progress: Callable[[str], None]
) -> Unbundled:
    files, said = list[Path](), dict.fromkeys(found.said)
    lost = dict.fromkeys(found.lost)
    for one, output in outputs:
        progress(f"writing {one.schema}")
        _make(output.parent)
        choice = Choice(one.place.run, one.place.index)
        try:
            converted = convert(one.file, output, one.schema, choice, toc=found.toc)
        except InputError as error:
            lost[f"{one.schema}, {one}, is left out: {error.message}"] = None
            continue
        files += converted.files
        said |= dict.fromkeys((*converted.damage, *converted.drift, *converted.remarks))
    return Unbundled(tuple(files), gathered(said), tuple(lost))


def _named(tables: list[Listed]) -> Iterator[tuple[Listed, str]]:
    """Yield tables with the names of their files, none of which leads elsewhere."""
    several = len({one.place.run for one in tables}) > 1
    taken = set[str]()
    for one in sorted(tables, key=lambda one: (one.place.run or 0, one.place.index or 0)):
        plain = "".join(
            letter if letter.isalnum() or letter in "-_" else "_" for letter in one.schema
        )
        name = f"run{one.place.run}/{plain}" if several else plain
        free = next(one for one in _numbered(name) if one not in taken)
        taken.add(free)
        yield one, free


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{folder} cannot be made: {error.strerror}.", hint="Name another folder."
        ) from error
