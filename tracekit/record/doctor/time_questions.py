"""The questions about time: of answers, recordings, exports, and of the rest that a start needs.

A time is at most the expected one, or a deadline of tracekit grows by `doctor --learn`.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tracekit.base import InputError, choices
from tracekit.record.beliefs import LongerThan
from tracekit.record.doctor.interview import (
    Answer,
    ExportTime,
    NameList,
    NotAnsweredError,
    Observed,
    OutOfTimeError,
    Trial,
    says,
    sleeper,
)
from tracekit.record.doctor.questions import DoctorQuestion, launch
from tracekit.record.xctrace.templates import GPU_COUNTERS
from tracekit.record.xctrace.tool import parse_listing
from tracekit.tables import Bundle, toc

_STANDARD = "Standard "
_PATH = '/trace-toc/run[@number="1"]/data/table[@schema="{}"]'
_REST_STEP = 5.0  # seconds between two tries after a start that was stopped
_CLOCKS = {"tick", "time-info"}  # their rows come even if nothing was recorded


def _answers(trial: Trial) -> Observed:
    """Measure the answers, and keep the names of the standard lists."""
    seconds = [trial.run("version").seconds, trial.run("help", "record").seconds]
    lists: list[NameList] = []
    for kind in ("templates", "instruments", "devices"):
        command = trial.run_privately("list", kind)
        seconds.append(command.seconds)
        lists += _read_lists(command.stdout) or _read_lists(command.stderr)
    trial.interview.lists = lists
    observed: dict[str, Answer] = {"answer-seconds": round(max(seconds), 1)}
    instruments: set[str] = set()
    has_heading = False
    for listed in lists:
        instruments.update(listed.names)
        has_heading = has_heading or "Instruments" in listed.heading
    if not has_heading:
        raise NotAnsweredError(
            "`xctrace list instruments` has no heading of the known form", observed
        )
    return {**observed, "instruments-listed": {*choices.LIGHT, GPU_COUNTERS} <= instruments}


def _read_lists(text: str) -> list[NameList]:
    lists: list[NameList] = []
    for heading, names in parse_listing(text).items():
        kept_names = tuple(names) if heading.startswith(_STANDARD) else ()
        lists.append(NameList(heading, len(names), kept_names))
    return lists


def _times(trial: Trial) -> Observed:
    shared_recording = trial.interview.plain_recording(trial)
    observed: dict[str, Answer] = dict(shared_recording.seconds)
    export = ("export", "--input", str(shared_recording.bundle))
    exports = {
        "toc-seconds": ("--output", str(trial.folder / "toc.xml"), "--toc"),
        "table-seconds": (
            *("--output", str(trial.folder / "table.xml")),
            *("--xpath", _PATH.format("time-info")),
        ),
    }
    for belief, words in exports.items():
        start_time = time.monotonic()
        try:
            observed[belief] = round(trial.run(*export, *words).seconds, 1)
        except OutOfTimeError as error:
            observed[belief] = LongerThan(round(time.monotonic() - start_time, 1))
            raise OutOfTimeError(str(error), observed) from error
    return observed


def _exports(trial: Trial) -> Observed:
    """Export each schema of a recording, the smallest first, and note the seconds of each."""
    bundle = _record_metal(trial) or trial.interview.plain_recording(trial).bundle
    code, _ = trial.export_toc(bundle)
    toc_file = trial.folder / f"{bundle.stem}.toc.xml"
    if code or not toc_file.exists():
        raise NotAnsweredError(f"the table of contents cannot be exported: exit code {code}")
    rows = _count_rows(bundle)
    schemas: set[str] = set()
    for table in toc.read_toc(toc_file).runs[-1].tables:
        schemas.add(table.schema)
    times = trial.interview.exports
    times.clear()
    try:
        for schema in sorted(schemas, key=lambda schema: (rows.get(schema, 0), schema)):
            export = _export_schema(trial, bundle, schema, rows.get(schema))
            times.append(export)
    except OutOfTimeError as error:
        reason = f"{error}, after {len(times)} of {len(schemas)} tables"
        bound = LongerThan(_find_longest(times))
        raise OutOfTimeError(reason, {"export-seconds": bound}) from error
    largest = 0
    for export in times:
        largest = max(largest, export.size or 0)
    if not largest:
        raise NotAnsweredError("no table of the recording could be exported")
    return {"export-seconds": _find_longest(times)}


def _find_longest(times: list[ExportTime]) -> float:
    """Return the seconds of the longest export, 0 if there is none."""
    longest = 0.0
    for export in times:
        longest = max(longest, export.seconds)
    return longest


def _record_metal(trial: Trial) -> Path | None:
    """Record a second with Metal System Trace; None on a virtual Mac, or if it is not saved."""
    if trial.interview.is_virtual:
        return None
    words = trial.record_words("metal", template=choices.METAL_SYSTEM_TRACE)
    command = trial.run(*words, "--launch", "--", *sleeper(10))
    if not says(command.stdout, "line-saved"):
        return None
    bundle = trial.bundle("metal")
    trial.interview.note_schemas(bundle)
    return bundle


def _export_schema(trial: Trial, bundle: Path, schema: str, rows: int | None) -> ExportTime:
    output = trial.folder / "table.xml"
    output.unlink(missing_ok=True)
    paths = ("--input", str(bundle), "--output", str(output))
    command = trial.call("export", *paths, "--xpath", _PATH.format(schema))
    size = output.stat().st_size if output.exists() else None
    return ExportTime(schema, round(command.seconds, 1), size, rows)


def _count_rows(bundle: Path) -> dict[str, int]:
    """Return the rows of each schema; empty if the bundle cannot be read directly."""
    rows: dict[str, int] = {}
    try:
        for store in Bundle(bundle).runs[-1].stores:
            rows[store.schema] = rows.get(store.schema, 0) + store.rows
    except InputError:
        return {}
    return rows


def _measure_rest(trial: Trial) -> Observed:
    """Stop a start, and record again and again until a recording has rows."""
    shared_recording = trial.interview.plain_recording(trial)
    if not _has_rows(shared_recording.bundle):
        raise NotAnsweredError("a recording of this machine has no rows, with or without a rest")
    words = trial.record_words("stopped", limit="4s")
    process = trial.start(*words, "--launch", "--", *sleeper(20))
    process.wait_for("line-announced")
    is_early = not says(process.output(), "line-started")
    process.child.send(signal.SIGINT)
    process.finish()
    if not is_early:
        raise NotAnsweredError("it recorded before it could be asked to stop")
    stopped = time.monotonic()
    rest_seconds = 0.0
    try:
        for bundle in _number_bundles(trial):
            rest_seconds = round(time.monotonic() - stopped, 1)
            command = launch(trial, bundle.stem, seconds=10)
            if says(command.stdout, "line-saved") and _has_rows(bundle):
                break
            trial.wait(_REST_STEP * trial.interview.gpu.haste)
    except OutOfTimeError as error:
        raise OutOfTimeError(str(error), {"rest-seconds": LongerThan(rest_seconds)}) from error
    return {"rest-seconds": rest_seconds}


def _number_bundles(trial: Trial) -> Iterator[Path]:
    number = 0
    while True:
        yield trial.bundle(f"after-{number}")
        number += 1


def _has_rows(bundle: Path) -> bool:
    """Return whether a table has rows, but for those of the clocks."""
    rows = 0
    for schema, count in _count_rows(bundle).items():
        if schema not in _CLOCKS:
            rows += count
    return rows > 0


TIME_QUESTIONS: tuple[DoctorQuestion, ...] = (
    DoctorQuestion("answers", "How long do answers take, and what is listed?", _answers, 120.0),
    DoctorQuestion("times", "How long do the parts of a recording take?", _times, limit=240.0),
    DoctorQuestion("exports", "How long does each export take?", _exports, limit=400.0),
)
# It may leave Instruments' service without rows for a while, so it is asked last.
REST_QUESTION = DoctorQuestion(
    "rest", "How long a rest does a stopped start need?", _measure_rest, limit=240.0
)
