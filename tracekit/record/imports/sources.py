"""Which recordings there are among files and folders."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import InputError, UsageError
from tracekit.tables.exports import identify, refusal
from tracekit.tables.stored import PACKED, SUFFIX, is_bundle

_TOC = re.compile(r"(?<![^\W_])toc(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What belongs to one recording: a name, its TOC if there is one, its tables."""

    name: str
    toc: Path | None
    tables: tuple[Path, ...]


def found(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return bundles, packed or not, and files that may be exports, each once.

    Raises:
        UsageError: A path does not exist.
    """
    bundles: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        if _is_recording(path):
            bundles.append(path)
        elif path.is_dir():
            bundles += sorted(filter(_is_recording, _called_so(path)))
            files += sorted(path.glob("*.xml"))
        else:
            files.append(path)
    return _each_once(bundles), _each_once(files)


def name_of(bundle: Path) -> str:
    """Return what a bundle is called, packed or not, without its suffixes."""
    name = bundle.name
    for suffix in (PACKED, SUFFIX):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name


def _called_so(folder: Path) -> Iterator[Path]:
    return (one for one in folder.iterdir() if SUFFIX in one.name.lower())


def _is_recording(path: Path) -> bool:
    return is_bundle(path) or (path.suffix.lower() == PACKED and path.is_file())


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """Leave out what was named twice, in whatever words: its rows would count twice."""
    return list({path.resolve(): path for path in reversed(paths)}.values())[::-1]


def recordings_of(files: Sequence[Path]) -> list[Source]:
    """Sort files into recordings: a TOC and the tables whose names hold the TOC's.

    Raises:
        InputError: A file is no export, or belongs to none or several of the TOCs.
    """
    kinds = {file: identify(file) for file in files}
    tocs = [file for file, found in kinds.items() if found.kind == "toc"]
    tables = [file for file, found in kinds.items() if found.kind == "tables"]
    strange = [file for file, found in kinds.items() if found.kind == "unknown"]
    if strange:
        raise refusal(strange[0])
    if len(tocs) <= 1:
        name = _key(tocs[0]) if tocs else tables[0].stem if tables else ""
        return [Source(name, tocs[0] if tocs else None, tuple(tables))] if kinds else []
    owners = {table: _owner(table, tocs) for table in tables}
    return [
        Source(_key(toc), toc, tuple(table for table, owner in owners.items() if owner == toc))
        for toc in tocs
    ]


def _owner(table: Path, tocs: Sequence[Path]) -> Path:
    named = [toc for toc in tocs if _key(toc) in table.stem and toc.parent == table.parent]
    best = [toc for toc in named if len(_key(toc)) == max(len(_key(one)) for one in named)]
    if len(best) != 1:
        raise InputError(
            f"It is not clear to which of {len(tocs)} TOCs {table} belongs.",
            hint="Import one recording at a time: its TOC and its tables.",
        )
    return best[0]


def _key(toc: Path) -> str:
    """Return what a TOC's file is called besides being one: gpu_baseline_toc → gpu_baseline."""
    return _TOC.sub("", toc.stem).strip("-_. ") or toc.parent.name
