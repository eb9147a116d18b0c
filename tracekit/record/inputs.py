"""The files that an import is given: bundles, and exports that belong to one recording each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import InputError, UsageError, unpacking
from tracekit.tables import PACKED, SUFFIX, captures, exports, is_bundle, xcode_counters

_TOC = re.compile(r"(?<![^\W_])toc(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class ExportFiles:
    """The exports of one recording: a name, its TOC if there is one, its tables.

    `strangers` are exports next to them whose names are those of another recording.
    """

    name: str
    toc: Path | None
    tables: tuple[Path, ...]
    strangers: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files, the TOC first and strangers last."""
        tocs = (self.toc,) if self.toc is not None else ()
        return (*tocs, *self.tables, *self.strangers)


def find_inputs(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return bundles, packed or not, and files that may be exports, each once."""
    bundles: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        if _is_recording(path):
            bundles.append(path)
        elif path.is_dir():
            bundles += _find_bundles(path)
            files += exports.export_files(path)
            files += sorted(filter(xcode_counters.is_counters, path.iterdir()))
        else:
            files.append(path)
    return _each_once(bundles), _each_once(files)


def make_emptiness_error(paths: Sequence[Path]) -> InputError:
    """Return the error for paths that hold no recording."""
    return InputError(
        f"No export and no bundle in {', '.join(map(str, paths))}.",
        hint="Exports are files of `xctrace export`, made with --toc or --xpath; a bundle's "
        "folder ends with .trace or .gputrace. Folders inside a folder are not searched.",
    )


def _find_bundles(folder: Path) -> list[Path]:
    return sorted(filter(_is_recording, _list_candidates(folder)))


def _list_candidates(folder: Path) -> list[Path]:
    suffixes = (SUFFIX, captures.SUFFIX)
    names = [entry for entry in folder.iterdir() if entry.is_dir() or PACKED in entry.name.lower()]
    return [entry for entry in names if any(suffix in entry.name.lower() for suffix in suffixes)]


def name_of(bundle: Path) -> str:
    """Return the name of a bundle, packed or not, without its suffixes."""
    suffixes = rf"({re.escape(SUFFIX)}|{re.escape(captures.SUFFIX)})?({re.escape(PACKED)})?$"
    return re.sub(suffixes, "", bundle.name, count=1, flags=re.IGNORECASE)


def _is_recording(path: Path) -> bool:
    return is_bundle(path) or (path.suffix.lower() == PACKED and path.is_file())


def holds_capture(bundle: Path) -> bool:
    """Return whether a bundle, packed or not, is a GPU frame capture.

    Raise InputError if it is a damaged zip file.
    """
    if bundle.is_file():
        return unpacking.find_content(bundle) == "capture"
    return captures.is_capture(bundle)


def find_profiled_capture(bundles: Sequence[Path], counters: Sequence[Path]) -> Path | None:
    """Return the GPU frame capture that counters belong to: the only one, else that of their name.

    None if there is no such capture.
    """
    if not counters:
        return None
    candidates = list(filter(holds_capture, bundles))
    if len(candidates) == 1:
        return candidates[0]
    stems = {file.stem for file in counters}
    namesakes = [bundle for bundle in candidates if name_of(bundle) in stems]
    if len(namesakes) == 1:
        return namesakes[0]
    return None


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """Leave out a file that was named twice, in whatever words: its rows would count twice.

    It keeps its first name, at the place of its last.
    """
    first_names: dict[Path, Path] = {}
    for path in paths:
        file = path.resolve()
        first_names[file] = first_names.pop(file, path)
    return list(first_names.values())


def recordings_of(files: Sequence[Path]) -> list[ExportFiles]:
    """Sort files into recordings: a TOC and the tables whose names hold the TOC's.

    The only TOC also gets the tables that are called by their schema alone; and all tables if none
    has its name. Raise InputError if a file is not an export, or belongs to none or several of the
    TOCs.
    """
    tocs: list[Path] = []
    tables: list[Path] = []
    unknown_files: list[Path] = []
    for file in dict.fromkeys(files):
        match exports.identify(file).kind:
            case "toc":
                tocs.append(file)
            case "tables":
                tables.append(file)
            case "unknown":
                unknown_files.append(file)
    if unknown_files:
        raise exports.refusal(unknown_files[0])
    if not tocs and not tables:
        return []
    if not tocs:
        return [ExportFiles(tables[0].stem, None, tuple(tables))]
    if len(tocs) == 1:
        strangers = _find_strangers(tables, _key(tocs[0]))
        own_tables = tuple(table for table in tables if table not in strangers)
        return [ExportFiles(_key(tocs[0]), tocs[0], own_tables, strangers)]
    tables_by_toc: dict[Path, list[Path]] = {toc: [] for toc in tocs}
    for table in tables:
        tables_by_toc[_owner(table, tocs)].append(table)
    return [ExportFiles(_key(toc), toc, tuple(owned)) for toc, owned in tables_by_toc.items()]


def _find_strangers(tables: Sequence[Path], key: str) -> tuple[Path, ...]:
    """Return the tables with another name than that of the only TOC, if others have that name.

    A file that is called by its schema alone may be of any recording, and is not a stranger.
    """
    is_key_used = False
    strangers: list[Path] = []
    for table in tables:
        other_words = table.stem
        for schema in exports.identify(table).schemas:
            other_words = other_words.replace(schema, "")
        if key in other_words:
            is_key_used = True
        elif other_words.strip("-_. 0123456789"):
            strangers.append(table)
    return tuple(strangers) if is_key_used else ()


def _owner(table: Path, tocs: Sequence[Path]) -> Path:
    """Return the TOC in the table's folder whose name is the longest part of the table's name."""
    longest = 0
    best_tocs: list[Path] = []
    for toc in tocs:
        key = _key(toc)
        if toc.parent != table.parent or key not in table.stem:
            continue
        if len(key) > longest:
            longest = len(key)
            best_tocs = []
        if len(key) == longest:
            best_tocs.append(toc)
    if len(best_tocs) != 1:
        raise InputError(
            f"It is not clear to which of {len(tocs)} TOCs {table} belongs.",
            hint="Import one recording at a time: its TOC and its tables.",
        )
    return best_tocs[0]


def _key(toc: Path) -> str:
    """Return the name of a TOC's recording: gpu_baseline_toc → gpu_baseline."""
    return _TOC.sub("", toc.stem).strip("-_. ") or toc.parent.name
