"""Runs of any input: kept next to it, or made for one command in a temporary folder."""

import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracekit import analysis, pipeline, record, tables
from tracekit.app.sources import Source, find_sources, is_packed_bundle
from tracekit.base import (
    InputError,
    Recording,
    UsageError,
    checksums,
    documents,
    files,
    outputs,
    system,
    unpacking,
)
from tracekit.record import Progress, quiet

_MOST = 1_000
_KEPT = "-run"
_DOCUMENT = ".json"
_PACKED_BUNDLE = ".trace.zip"


@dataclass(frozen=True)
class _InputNote:
    """The input that a kept run was made of: its paths, and the stamp of their files."""

    paths: tuple[str, ...]
    stamp: str
    format: int = 1


@dataclass(frozen=True)
class InputChoices:
    """A user's choices: the process whose rows count, and the run of a trace."""

    target: str | None = None
    run: int | None = None


AS_RECORDED = InputChoices()


def keep_runs(
    paths: Sequence[Path],
    output: Path | None = None,
    choices: InputChoices = AS_RECORDED,
    progress: Progress = quiet,
) -> list[Recording]:
    """Return the runs of any input; those that are not runs yet are made and kept next to it.

    The run of `X.trace`, of `X.zip`, or of exports called X is `X-run`, or the folder `output`.
    It is found again, and made anew if the input changed since.

    Raises:
        UsageError: `output` is given for a run, or for several recordings, or is taken; a folder
            cannot be made; or the target or the run is not there.
        InputError: As `find_sources`; or the input is damaged.
    """
    sources = find_sources(paths)
    if output is not None:
        _require_new_place(sources, output)
    return [_keep_run(source, output, choices, progress) for source in sources]


def keep_run(
    paths: Sequence[Path], output: Path | None = None, choices: InputChoices = AS_RECORDED
) -> Recording:
    """Return the run of an input that is one recording, as `keep_runs` does."""
    source = only_source(paths)
    if output is not None:
        _require_new_place([source], output)
    return _keep_run(source, output, choices, quiet)


def only_source(paths: Sequence[Path]) -> Source:
    """Return the only recording that paths lead to; raise UsageError if there are several."""
    sources = find_sources(paths)
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise UsageError(
            f"There are {len(sources)} recordings: {names}.", hint="Name the files of one."
        )
    return sources[0]


def _require_new_place(sources: Sequence[Source], output: Path) -> None:
    if output.suffix == ".html" and not output.is_dir():
        raise UsageError(
            f"--output names the folder of the run, and {output.name} is the name of a page.",
            hint="The page is report.html in that folder.",
        )
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise UsageError(
            f"--output names one folder, but there are {len(sources)} recordings: {names}.",
            hint="Leave --output out, or name the files of one recording.",
        )
    if sources[0].kind == "run":
        raise UsageError(
            f"{sources[0].paths[0]} is a run, which keeps its result and page in its own folder.",
            hint="Leave --output out, or copy the run.",
        )


def _keep_run(
    source: Source, output: Path | None, choices: InputChoices, progress: Progress
) -> Recording:
    if source.kind == "run":
        return choose_again(Recording(source.paths[0]), choices)
    with system.locked_folder(source.place):  # another process may make the same run
        return _find_or_keep_run(source, output, choices, progress)


def _find_or_keep_run(
    source: Source, output: Path | None, choices: InputChoices, progress: Progress
) -> Recording:
    note = _InputNote(tuple(str(path.resolve()) for path in source.paths), source.stamp())
    recording = Recording(output or _find_folder(source, note))
    old_note = _read_note(recording)
    if old_note == note:
        return choose_again(recording, choices)
    if old_note is not None and old_note.paths == note.paths:
        clear(recording)
    recording = make_run(source, recording.folder, choices, progress)
    with checksums.noting(recording.folder, "import", begin=False):
        documents.save(recording.input_file, note)
    return recording


def find_kept_run(source: Source) -> Recording | None:
    """Return the kept run of an input that did not change since; None if there is none."""
    if source.kind == "run":
        return Recording(source.paths[0])
    note = _InputNote(tuple(str(path.resolve()) for path in source.paths), source.stamp())
    recording = Recording(_find_folder(source, note))
    if _read_note(recording) == note:
        return recording
    return None


def _find_folder(source: Source, note: _InputNote) -> Path:
    """Return the folder of the kept run of an input, or a free name for one."""
    for number in range(1, _MOST):
        ending = _KEPT if number == 1 else f"{_KEPT}-{number}"
        folder = source.place / f"{source.name}{ending}"
        if not folder.exists():
            return folder
        old_note = _read_note(Recording(folder))
        if old_note is not None and old_note.paths == note.paths:
            return folder
    raise UsageError(
        f"There are too many folders {source.name}{_KEPT} in {source.place}.",
        hint="Name another folder with --output.",
    )


def _read_note(recording: Recording) -> _InputNote | None:
    try:
        return documents.decode_json(files.read_input(recording.input_file), _InputNote)
    except (FileNotFoundError, InputError, msgspec.MsgspecError):
        return None


def clear(recording: Recording) -> None:
    """Remove the files of a run from its folder, and nothing else."""
    for name in Recording.places():
        path = recording.folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def choose_again(recording: Recording, choices: InputChoices) -> Recording:
    """Judge the chosen run of its trace and the chosen process from now on; return the run."""
    if choices.run is not None:
        record.imports.choose_run(recording, choices.run)
    if choices.target is not None:
        record.imports.choose_target(recording, choices.target)
    return recording


def make_run(
    source: Source,
    folder: Path,
    choices: InputChoices = AS_RECORDED,
    progress: Progress = quiet,
    *,
    in_place: bool = False,
) -> Recording:
    """Make a run of an input that is none in a folder, which is new or empty.

    With `in_place` the run has links to exports instead of copies.
    """
    outputs.require_apart([folder], source.paths)
    match source.kind:
        case "packed run":
            progress("unpacking the run")
            unpacking.unpack_run(source.paths[0], folder)
            return choose_again(Recording(folder), choices)
        case "packed exports":
            with tempfile.TemporaryDirectory(prefix="tracekit-") as temporary:
                unpacked = Path(temporary) / source.name
                progress("unpacking the exports")
                unpacking.unpack_files(source.paths[0], unpacked)
                inner_source = _find_packed_exports(source.paths[0], unpacked)
                return _import(inner_source, folder, choices, progress)
        case _:
            return _import(source, folder, choices, progress, in_place=in_place)


def _find_packed_exports(archive: Path, folder: Path) -> Source:
    """Return the only recording among the exports that a zip file held, in any of its folders."""
    places = dict.fromkeys(path.parent for path in sorted(folder.rglob("*")) if path.is_file())
    sources: list[Source] = []
    if places:
        sources = find_sources(list(places))
    if len(sources) == 1:
        return sources[0]
    description = "nothing that can be read"
    if sources:
        description = f"{len(sources)} recordings: {', '.join(source.name for source in sources)}"
    raise InputError(
        f"{archive} holds {description}.",
        hint="Pack the files of one recording, or unpack it and name its folder.",
    )


def _import(
    source: Source,
    folder: Path,
    choices: InputChoices,
    progress: Progress,
    *,
    in_place: bool = False,
) -> Recording:
    recordings = pipeline.import_(
        source.paths, folder, choices.target, progress, choices.run, in_place=in_place
    )
    return recordings[0]


def complete(
    recording: Recording, progress: Progress = quiet, *, redacted: bool = True
) -> Recording:
    """Make the tables and the result of a run that it lacks, or that are not of its files.

    A result that cannot be made again stays; to load it reports the reason for doubt.
    """
    if not recording.exports.exists():
        pipeline.export(recording, progress)
    if not recording.result_file.exists():
        pipeline.analyze(recording, progress, redacted=redacted)
        return recording
    result = analysis.Result.load(recording.result_file)
    if pipeline.doubt_result(recording, result) and _can_analyze_again(recording):
        pipeline.analyze(recording, progress, redacted=result.provenance.redacted)
    return recording


def _can_analyze_again(recording: Recording) -> bool:
    return not pipeline.lacks_sources(recording) and os.access(recording.folder, os.W_OK)


def write_page(
    recording: Recording,
    progress: Progress = quiet,
    *,
    redacted: bool = True,
    place: Path | None = None,
) -> Path:
    """Write the page of a run, into it or to a place; first the tables and result that it lacks."""
    if place is not None:
        complete(recording, progress, redacted=redacted)
        return pipeline.report(recording, progress, redacted=redacted, place=place)
    if not recording.exports.exists():
        pipeline.export(recording, progress)
    return pipeline.analyze_and_report(recording, progress, redacted=redacted)


@contextmanager
def reading(
    paths: Sequence[Path],
    choices: InputChoices = AS_RECORDED,
    progress: Progress = quiet,
) -> Generator[list[Recording]]:
    """Yield a run for each recording that paths lead to, as long as the block lasts.

    A run that is there, or was kept next to its input, is used as it is. Others are made in a
    temporary folder, which is removed at the end. The choices are about those that are made. Raises
    the errors of `keep_runs`.
    """
    sources = find_sources(paths)
    with tempfile.TemporaryDirectory(prefix="tracekit-") as temporary:
        recordings: list[Recording] = []
        for number, source in enumerate(sources):
            folder = Path(temporary) / str(number) / source.name
            recording = find_or_make_run(source, folder, choices, progress)
            recordings.append(recording)
        yield recordings


@contextmanager
def reading_one(
    path: Path, choices: InputChoices = AS_RECORDED, progress: Progress = quiet
) -> Generator[Recording]:
    """Yield the run of an input that is one recording, as `reading` does."""
    only_source([path])
    with reading([path], choices, progress) as recordings:
        yield recordings[0]


@contextmanager
def comparing(paths: Sequence[Path], progress: Progress = quiet) -> Generator[list[Path]]:
    """Yield a path that can be compared for each of the paths, as long as the block lasts.

    A document, such as result.json or that of a bench, stays as it is. Anything else becomes an
    analyzed run, as `reading` makes one. Raises the errors of `reading`, and UsageError if a path
    holds several recordings.
    """
    with tempfile.TemporaryDirectory(prefix="tracekit-") as temporary:
        comparable: list[Path] = []
        for number, path in enumerate(paths):
            if path.is_file() and path.suffix == _DOCUMENT:
                comparable.append(path)
                continue
            source = only_source([path])
            folder = Path(temporary) / str(number) / source.name
            recording = find_or_make_run(source, folder, progress=progress)
            complete(recording, progress)
            comparable.append(recording.folder)
        yield comparable


@contextmanager
def asking(
    paths: Sequence[Path], choices: InputChoices = AS_RECORDED, progress: Progress = quiet
) -> Generator[dict[Path, Path]]:
    """Yield paths as a query takes them, each with that to show for it, as long as the block lasts.

    Runs, bundles, batches and folders of these stay as they are. Exports, and zip files that hold
    no bundle, become runs, as `reading` makes them. Raises the errors of `reading`.
    """
    other_paths: list[Path] = []
    asked_paths: dict[Path, Path] = {}
    for path in paths:
        is_whole = _can_be_asked(path)
        if not is_whole:
            other_paths.append(path)
        if is_whole or path.is_dir():  # with the recordings next to its exports
            asked_paths[path] = path
    if not other_paths:
        yield asked_paths
        return
    with tempfile.TemporaryDirectory(prefix="tracekit-") as temporary:
        for number, source in enumerate(find_sources(other_paths)):
            first_path = source.paths[0]
            if source.kind in {"bundle", "packed bundle"} and first_path not in other_paths:
                continue  # the query finds it in its folder
            folder = Path(temporary) / str(number) / source.name
            recording = find_or_make_run(source, folder, choices, progress)
            if recording.folder != folder:
                asked_paths[recording.folder] = recording.folder
            elif first_path.parent in other_paths:
                asked_paths[folder] = first_path.parent
            else:
                asked_paths[folder] = first_path
        yield asked_paths


def _can_be_asked(path: Path) -> bool:
    """Tell whether a query finds the recordings of a path by itself, or refuses it better."""
    if tables.is_bundle(path) or Recording(path).provenance_file.exists() or not path.exists():
        return True
    if path.is_file():
        return path.name.lower().endswith(_PACKED_BUNDLE) and is_packed_bundle(path)
    # Without files there are no exports, and no need of their reader.
    has_files = any(entry.is_file() for entry in path.iterdir())
    return not has_files or not tables.exports.export_files(path)


def holds_capture(path: Path) -> bool:
    """Tell whether a path is a GPU frame capture, the run of one, or a zip file with one."""
    if tables.captures.is_capture(path):
        return True
    if path.is_file() and path.suffix.lower() == unpacking.SUFFIX:
        return unpacking.find_content(path) == "capture"
    return Recording(path).gputrace.exists()


def find_or_make_run(
    source: Source, folder: Path, choices: InputChoices = AS_RECORDED, progress: Progress = quiet
) -> Recording:
    """Return the run that an input is, or that was kept of it, or one that is made in a folder."""
    if choices == AS_RECORDED or source.kind == "run":
        kept_run = find_kept_run(source)
        if kept_run is not None:
            return kept_run
    return make_run(source, folder, choices, progress, in_place=True)
