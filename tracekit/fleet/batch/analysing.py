"""One recording from its source to its rows, in a worker: no error leaves it."""

import gc
import logging
import os
import re
import shutil
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

from tracekit import pipeline
from tracekit import record as record_room
from tracekit.base import InputError, Recording, TracekitError, units
from tracekit.fleet.batch.results import BatchRow, fill_row, keep_page, keep_tables
from tracekit.fleet.batch.sources import RecordingSource, Said, SourceForm, forget_listings
from tracekit.fleet.batch.tasks import Task
from tracekit.tables import exports

_COLLECTED_AFTER = 50_000
"""New objects after which the collector looks for cycles; it took a tenth of a small analysis."""
_MOST_FILES = 100_000
_LONGEST = 200  # letters of a file's name
_SHARE = 0.5  # of the free disk that one recording may take


def fetch_source(source: RecordingSource, folder: Path) -> Path:
    """Copy the files that an analysis needs into a folder, and return the copy of the source."""
    place = source.place
    forget_listings(place.filesystem)
    files = source.files()
    _require_room(source, files, folder)
    # Named as the source, in letters that every file system accepts.
    safe_name = re.sub(r"[^\w.+-]+", "-", place.base)
    name = safe_name[-_LONGEST:].lstrip(".-")
    into = folder / (name or "source")
    if source.form in {SourceForm.ZIPPED, SourceForm.EXPORTS} and [*files] == [place.base]:
        remote_paths = [place.path]
        copies = {place.base: into}
    else:
        prefix = place.path.rstrip("/")
        if prefix:
            prefix += "/"
        remote_paths = [f"{prefix}{name}" for name in files]
        copies = {name: into / name for name in files}
    for copy in copies.values():
        copy.parent.mkdir(parents=True, exist_ok=True)
    local_paths = [str(copy) for copy in copies.values()]
    try:
        place.filesystem.get(remote_paths, local_paths)
    except Exception as error:
        raise InputError(
            f"{place.name} cannot be fetched: {str(error) or type(error).__name__}.",
            hint="See that the worker may read it; the same command tries it again.",
        ) from error
    for name, copy in copies.items():
        listed_size = files[name].get("size")
        if not _is_complete(copy, listed_size):
            raise InputError(
                f"{name} of {place.name} does not have its listed size: {listed_size} bytes.",
                hint="It changed while it was fetched; try again with --retry-failed.",
            )
    return into


def _is_complete(copy: Path, listed_size: int | None) -> bool:
    """Tell whether a copy has the size of the listing, if that has one."""
    if not copy.is_file():
        return False
    return listed_size is None or copy.stat().st_size == listed_size


def _require_room(source: RecordingSource, files: Mapping[str, Said], folder: Path) -> None:
    sizes = [int(info.get("size") or 0) for info in files.values()]
    total = sum(sizes)
    free_bytes = shutil.disk_usage(folder).free
    if total > free_bytes * _SHARE or len(files) > _MOST_FILES:
        raise InputError(
            f"{source.place.name} has {len(files):,} files of {units.size(total)} to fetch, "
            f"and {units.size(free_bytes)} are free.",
            hint="Make room on the worker, or analyse it in place.",
        )


_BUG = "This is a bug of tracekit; `tracekit import` and `analyze` show its traceback."
_LINKED = (
    *("workload.json", "workload.jsonl", "gauges.jsonl", "exports", "recording.trace"),
    "capture.gputrace",
)


def serve(descriptor: int) -> None:
    """Analyse the tasks from a pipe; exit as soon as its other end is closed."""
    logging.getLogger("tracekit").setLevel(logging.CRITICAL)  # rows hold the readers' warnings
    gc.set_threshold(_COLLECTED_AFTER)
    pipe: Connection[tuple[BatchRow, ...], tuple[Task, str]] = Connection(descriptor)
    tasks: SimpleQueue[tuple[Task, str]] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                tasks.put(pipe.recv())
        finally:
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        task, folder = tasks.get()
        pipe.send(analyse_task(task, Path(folder)))


def analyse_task(task: Task, folder: Path) -> tuple[BatchRow, ...]:
    """Return the rows of a source, one for each recording in it, or one with the error.

    `folder` is private, and empty.
    """
    start_time = time.monotonic()
    try:
        rows = _require_rows(task, tuple(_rows(task, folder)))
    except TracekitError as error:
        rows = (_make_failure_row(task, folder, error.message, error.hint),)
    except (Exception, RecursionError) as error:  # noqa: BLE001  whatever it is, its row says it
        rows = (_make_failure_row(task, folder, _words(error), _BUG),)
    elapsed = time.monotonic() - start_time
    seconds = round(elapsed / len(rows), 3)
    return tuple(replace(row, seconds=seconds) for row in rows)


def _require_rows(task: Task, rows: tuple[BatchRow, ...]) -> tuple[BatchRow, ...]:
    """Return the rows; raise InputError if the source was emptied after the search found it."""
    if not rows:
        raise InputError(
            f"{task.name} has no recording any more.",
            hint="It had one when the batch began. Put its files back, and repeat the command.",
        )
    return rows


def _rows(task: Task, folder: Path) -> Iterator[BatchRow]:
    recordings = enumerate(_recordings(task, folder), start=1)
    for number, (name, recording) in recordings:
        row = replace(task.row, state="ok")
        if number > 1:
            row = replace(row, key=f"{row.key}-{number}")
        if name:
            row = replace(row, recording=f"{row.recording}#{name}")
        redacted = task.choices.redacted
        # Of a pruned run, the tables alone are read that were copied.
        result, tables = pipeline.examine(recording, redacted=redacted, keep=_is_pruned(recording))
        row = fill_row(row, recording, result)
        table_names = keep_tables(task.output, task.choices.tables, row, tables)
        if task.choices.pages:
            keep_page(task.output, row, recording, result, tables, redacted=redacted)
        yield replace(row, tables=table_names)


def _recordings(task: Task, folder: Path) -> Iterator[tuple[str, Recording]]:
    """Yield private runs of the source, with their names in it if there are several."""
    source = task.source
    place = Path(source.place.path)
    if not source.place.local:
        place = fetch_source(source, folder)
    if source.form is SourceForm.RUN:
        yield "", _open_run(place, task.choices.run, folder / "run")
        return
    files = exports.export_files(place) if place.is_dir() else [place]
    if source.form is not SourceForm.EXPORTS:
        for recording in _import_runs(task, [place], folder / "run"):
            yield "", recording
        return
    parts = record_room.inputs.recordings_of(files)
    for number, part in enumerate(parts):
        name = ""
        if len(parts) > 1:
            name = part.name
        paths = list(part.paths)
        for recording in _import_runs(task, paths, folder / f"run-{number}"):
            yield name, recording


def _import_runs(task: Task, paths: list[Path], output: Path) -> list[Recording]:
    return pipeline.import_(paths, output, task.choices.target, run=task.choices.run)


def _open_run(place: Path, number: int | None, folder: Path) -> Recording:
    """Return a run, or a private copy of it if it is to be changed: for another run of its trace.

    The kept tables of a pruned run count among its files, and reading them changes their notes.
    """
    recording = Recording(place)
    if number in {None, recording.provenance().run} and not _is_pruned(recording):
        return recording
    recording = _borrow_run(recording, folder)
    if number is not None:
        record_room.imports.choose_run(recording, number)
    return recording


def _is_pruned(recording: Recording) -> bool:
    return (recording.exports / exports.PRUNED_NOTE).exists()


def _borrow_run(lender: Recording, folder: Path) -> Recording:
    """Return a private run that reads the files of another run, and writes none of them."""
    recording = Recording(folder)
    folder.mkdir()
    recording.save_provenance(lender.provenance())
    for name in _LINKED:
        if (lender.folder / name).exists():
            (folder / name).symlink_to((lender.folder / name).resolve())
    if _is_pruned(lender) and lender.tables.is_dir():
        shutil.copytree(lender.tables, recording.tables)
    return recording


def _make_failure_row(task: Task, folder: Path, error: str, hint: str) -> BatchRow:
    """Return the row of a failure, with the name of the source instead of its folder."""
    message = error.replace(str(folder), task.name)
    place = task.source.place
    if task.source.form is SourceForm.RUN and place.local:
        message = message.replace(place.path, task.name)
    if str(folder) in hint:
        hint = ""
    return replace(task.row, error=message, hint=hint)


def _words(error: BaseException) -> str:
    """Return the error and its place in the code."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for it."
    words = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        file = Path(frames[-1].filename).name
        words += f" ({file}, line {frames[-1].lineno})"
    return words
