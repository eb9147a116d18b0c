"""One recording from its source to its rows, in a worker: nothing that goes wrong leaves it."""

import logging
import os
import re
import shutil
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

from tracekit import pipeline
from tracekit.analysis import Result, load
from tracekit.base import InputError, Recording, TracekitError, size
from tracekit.fleet.batch.results import BatchRow, fill_row, keep_tables
from tracekit.fleet.batch.sources import RecordingSource, Said, SourceForm, forget_listings
from tracekit.record import choose_run, recordings_of
from tracekit.tables import PRUNED_NOTE, export_files

_MOST_FILES = 100_000
_LONGEST = 200  # letters of a file's name
_SHARE = 0.5  # of the free disk that one recording may take


def fetch_source(source: RecordingSource, folder: Path) -> Path:
    """Copy the files that an analysis needs into a folder, and return what became of the source."""
    place = source.place
    forget_listings(place.filesystem)
    files = source.files()
    _require_room(source, files, folder)
    # Called as the source, in letters that no file system minds.
    name = re.sub(r"[^\w.+-]+", "-", place.base)[-_LONGEST:].lstrip(".-")
    into = folder / (name or "source")
    single = source.form in {SourceForm.ZIPPED, SourceForm.EXPORTS} and [*files] == [place.base]
    copies = {name: into if single else into / name for name in files}
    for copy in copies.values():
        copy.parent.mkdir(parents=True, exist_ok=True)
    prefix = f"{place.path.rstrip('/')}/" if place.path.rstrip("/") else ""
    theirs = [place.path if single else f"{prefix}{name}" for name in files]
    try:
        place.filesystem.get(theirs, [str(copy) for copy in copies.values()])
    except Exception as error:
        raise InputError(
            f"{place.name} cannot be fetched: {str(error) or type(error).__name__}.",
            hint="See that the worker may read it; the same command tries it again.",
        ) from error
    for name, copy in copies.items():
        listed = files[name].get("size")
        if not copy.is_file() or (listed is not None and copy.stat().st_size != listed):
            raise InputError(
                f"{name} of {place.name} is not what the listing says: {listed} bytes.",
                hint="It changed while it was fetched; try again with --retry-failed.",
            )
    return into


def _require_room(source: RecordingSource, files: Mapping[str, Said], folder: Path) -> None:
    total = sum(int(info.get("size") or 0) for info in files.values())
    free_bytes = shutil.disk_usage(folder).free
    if total > free_bytes * _SHARE or len(files) > _MOST_FILES:
        raise InputError(
            f"{source.place.name} has {len(files):,} files of {size(total)} to fetch, "
            f"and {size(free_bytes)} are free.",
            hint="Make room on the worker, or analyse it where it lies.",
        )


_BUG = "This is a bug of tracekit; `tracekit import` and `analyze` show its traceback."
_LINKED = ("workload.json", "workload.jsonl", "gauges.jsonl", "exports", "recording.trace")


@dataclass(frozen=True)
class Choices:
    """What is asked of every recording of a batch.

    `target` is the process, by pid or name, whose rows count where a recording is imported; of
    `tables` to keep, `all` stands for every one; `redacted` leaves names of people and machines
    out; `run` is the run of each trace that is analysed, by default the last, or the one that a
    run is about.
    """

    target: str | None = None
    tables: tuple[str, ...] = ()
    redacted: bool = True
    run: int | None = None

    @property
    def settings(self) -> str:
        """What changes when results would; recordings are analysed again then."""
        choice_values = (self.target, ",".join(self.tables), self.redacted, self.run)
        return "\0".join(map(str, (version("tracekit"), *choice_values)))


@dataclass(frozen=True)
class Task:
    """One source to analyse: what it is called in the results, and the digest of its files.

    `output` is the batch's folder, for tables that are kept.
    """

    source: RecordingSource
    name: str
    stamp: str
    choices: Choices
    output: str = ""

    @property
    def row(self) -> BatchRow:
        """The row of which nothing but its source is known."""
        source = self.source
        return BatchRow(self.name, source.key, source.key, self.stamp, str(source.form), "failed")


def serve(descriptor: int) -> None:
    """Analyse what comes through a pipe; end as soon as nobody is at its other end."""
    logging.getLogger("tracekit").setLevel(logging.CRITICAL)  # rows hold what readers warn of
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
    """Return the rows of a source, one for each recording in it, or one that says why not.

    `folder` is private, and empty.
    """
    start_time = time.monotonic()
    try:
        rows = tuple(_rows(task, folder))
    except TracekitError as error:
        rows = (_make_failure_row(task, folder, error.message, error.hint),)
    except (Exception, RecursionError) as error:  # noqa: BLE001  whatever it is, its row says it
        rows = (_make_failure_row(task, folder, _words(error), _BUG),)
    seconds = round((time.monotonic() - start_time) / len(rows), 3)
    return tuple(replace(row, seconds=seconds) for row in rows)


def _rows(task: Task, folder: Path) -> Iterator[BatchRow]:
    for number, (name, recording) in enumerate(_recordings(task, folder), start=1):
        key = task.source.key if number == 1 else f"{task.source.key}-{number}"
        recording_name = f"{task.name}#{name}" if name else task.name
        row = replace(task.row, recording=recording_name, key=key, state="ok")
        row = fill_row(row, recording, _result(task, recording))
        yield replace(row, tables=keep_tables(task.output, task.choices.tables, row, recording))


def _recordings(task: Task, folder: Path) -> Iterator[tuple[str, Recording]]:
    """Yield private runs of the source, and what tells them apart where there are several."""
    source = task.source
    place = Path(source.place.path) if source.place.local else fetch_source(source, folder)
    if source.form is SourceForm.RUN:
        recording = _borrow_run(place, folder / "run")
        if task.choices.run is not None:
            choose_run(recording, task.choices.run)
        yield "", recording
        return
    files = export_files(place) if place.is_dir() else [place]
    if source.form is not SourceForm.EXPORTS:
        yield from (("", run) for run in _import_runs(task, [place], folder / "run"))
        return
    parts = recordings_of(files)
    for number, part in enumerate(parts):
        paths = [*([part.toc] if part.toc else []), *part.tables]
        for recording in _import_runs(task, paths, folder / f"run-{number}"):
            yield part.name if len(parts) > 1 else "", recording


def _import_runs(task: Task, paths: list[Path], output: Path) -> list[Recording]:
    return pipeline.import_(paths, output, task.choices.target, run=task.choices.run)


def _borrow_run(theirs: Path, folder: Path) -> Recording:
    """Return a run of our own that reads the files of theirs, and writes none of them."""
    recording = Recording(folder)
    folder.mkdir()
    recording.save_provenance(Recording(theirs).provenance())
    for name in _LINKED:
        if (theirs / name).exists():
            (folder / name).symlink_to((theirs / name).resolve())
    if (recording.exports / PRUNED_NOTE).exists() and Recording(theirs).tables.is_dir():
        shutil.copytree(Recording(theirs).tables, recording.tables)
    if _still_holds(Recording(theirs)):
        shutil.copyfile(Recording(theirs).result_file, recording.result_file)
    return recording


def _still_holds(run: Recording) -> bool:
    """Tell whether a run was analysed since its exports were written."""
    if not run.result_file.exists() or not run.exports.is_dir():
        return False
    analysis_time = run.result_file.stat().st_mtime_ns
    return all(file.stat().st_mtime_ns <= analysis_time for file in run.exports.glob("*.*"))


def _result(task: Task, recording: Recording) -> Result:
    """Return the result that a run has from this very version, or analyse it."""
    if recording.result_file.exists():
        try:
            result = load(recording.result_file)
        except TracekitError:
            recording.result_file.unlink()
        else:
            is_same_version = result.provenance.tracekit == version("tracekit")
            if is_same_version and result.provenance.redacted == task.choices.redacted:
                return result
    return pipeline.analyze(recording, redacted=task.choices.redacted)


def _make_failure_row(task: Task, folder: Path, error: str, hint: str) -> BatchRow:
    """Return the row of a failure; what lies in the private folder is called as its source."""
    message = error.replace(str(folder), task.name)
    return replace(task.row, error=message, hint="" if str(folder) in hint else hint)


def _words(error: BaseException) -> str:
    """Return what went wrong, and where."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for it."
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{location}"
