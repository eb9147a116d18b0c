"""The recordings that paths lead to: runs, bundles, zip files, exports, counters.

Each has the place where a run of it is kept: next to its files, and never in a bundle or a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from tracekit import record, tables
from tracekit.base import InputError, Recording, UsageError, outputs, unpacking

Kind = Literal["run", "bundle", "packed run", "packed bundle", "packed exports", "exports"]


@dataclass(frozen=True)
class Source:
    """One recording: its kind, its files, a name, and the folder next to them that keeps its run.

    Exported counters of Xcode are exports too. The only path of a run is its folder.
    """

    kind: Kind
    paths: tuple[Path, ...]
    name: str
    place: Path

    def stamp(self) -> str:
        """Return a digest of the names, sizes and times of its files, by which a change shows."""
        lines: list[str] = []
        for path in self.paths:
            files = [path]
            if path.is_dir():
                files = sorted(file for file in path.rglob("*") if file.is_file())
            for file in files:
                status = file.stat()
                lines.append(f"{file.name} {status.st_size} {status.st_mtime_ns}")
        return blake2b(
            "\n".join(lines).encode(errors="surrogateescape"), digest_size=16
        ).hexdigest()


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the recordings that paths are or hold, each once: runs first, then others.

    A run is also found by its bundle or its folder of exports. Exports that are named one by one
    belong together as far as their names tell; all counters belong to one capture, which is
    found among the paths if it is there.

    Raises:
        UsageError: A path does not exist.
        InputError: There is no recording, it is not clear which files belong together, or a file
            is of no known kind or a damaged zip file.
    """
    sources: list[Source] = []
    other_paths: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        run = _find_run(path)
        if run is None:
            other_paths.append(path)
        else:
            sources.append(Source("run", (run,), run.resolve().name, run.parent))
    if other_paths:
        sources += _find_other_sources(other_paths)
    if not sources:
        raise _make_emptiness_error(other_paths)
    return list(dict.fromkeys(sources))


def _find_other_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the recordings of paths that are not runs."""
    bundles, files = record.inputs.find_inputs(paths)
    counters = [file for file in files if tables.xcode_counters.is_counters(file)]
    exports = [file for file in files if file not in counters]
    profiled_capture = record.inputs.find_profiled_capture(bundles, counters)
    if profiled_capture is not None:
        bundles.remove(profiled_capture)
    sources = _sort_exports(exports, paths)
    sources += map(_describe_bundle, bundles)
    if profiled_capture is not None:
        source = _describe_bundle(profiled_capture)
        sources.append(replace(source, paths=(profiled_capture, *counters)))
    elif counters:
        place = _find_place(counters[0], paths)
        sources.append(Source("exports", tuple(counters), counters[0].stem, place))
    return sources


def _make_emptiness_error(paths: Sequence[Path]) -> InputError:
    for path in paths:
        runs = sorted(
            file.parent for file in path.glob(f"*/{Recording(path).provenance_file.name}")
        )
        if runs:
            return InputError(
                f"{path} is a folder of {len(runs)} runs, such as {runs[0].name}.",
                hint="Name the runs that you mean; `tracekit runs index` lists all of a folder.",
            )
    error = record.inputs.make_emptiness_error(paths)
    if len(paths) == 1 and paths[0].is_dir():
        message = (
            f"{paths[0]} is not a run's folder: it has no recording.json, no export, no bundle."
        )
        return InputError(message, hint=error.hint)
    return error


def _find_run(path: Path) -> Path | None:
    """Return the run's folder that a path is, or of which it is the bundle or the exports."""
    if Recording(path).provenance_file.exists():
        return path
    owner = Recording(path.parent)
    if path in {owner.bundle, owner.exports} and owner.provenance_file.exists():
        return path.parent
    return None


def _describe_bundle(bundle: Path) -> Source:
    kind: Kind = "bundle"
    if not tables.is_bundle(bundle):
        match unpacking.find_content(bundle):
            case "run":
                kind = "packed run"
            case "bundle" | "capture":
                kind = "packed bundle"
            case "files":
                kind = "packed exports"
    return Source(kind, (bundle,), record.inputs.name_of(bundle), _outside(bundle.parent))


def _sort_exports(files: Sequence[Path], given_paths: Sequence[Path]) -> list[Source]:
    if not files:
        return []
    recordings = record.inputs.recordings_of(files)
    sources: list[Source] = []
    for recording in recordings:
        own_files = recording.paths
        folder = own_files[0].parent
        name = recording.name
        if len(recordings) == 1 and recording.toc is None and folder in given_paths:
            name = folder.resolve().name
        sources.append(Source("exports", own_files, name, _find_place(own_files[0], given_paths)))
    return sources


def _find_place(file: Path, given_paths: Sequence[Path]) -> Path:
    """Return the folder next to a file, or next to its folder if a user named the folder."""
    folder = file.parent
    if folder in given_paths:
        folder = folder.resolve().parent if folder.name in {"", ".."} else folder.parent
    return _outside(folder)


def _outside(folder: Path) -> Path:
    """Return the folder, or the one that holds the outermost bundle or run that it lies in."""
    resolved = folder.resolve()
    for outer in reversed((resolved, *resolved.parents)):
        if outputs.is_closed(outer):
            return outer.parent
    return folder


def is_packed_bundle(path: Path) -> bool:
    """Tell whether a zip file holds a bundle and no run; a damaged one counts, to be refused."""
    try:
        return unpacking.find_content(path) == "bundle"
    except InputError:
        return True
