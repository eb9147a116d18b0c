"""The index of a folder of runs: what lies in it, and one page about all of it."""

import logging
from collections.abc import Iterator
from pathlib import Path

from tracekit.analysis.result import Result, load
from tracekit.base.errors import RecordingError, TracekitError
from tracekit.base.recording import Provenance, Recording, quoted, write_whole
from tracekit.base.redaction import redaction
from tracekit.fleet.index.entry import Unread, entries_of
from tracekit.fleet.index.page import render_index

INDEX = "index.html"
_log = logging.getLogger(__name__)


def write_index(folder: Path) -> Path:
    """Write the page about all runs of a folder into it.

    A run that cannot be read stands on the page with the reason.

    Raises:
        RecordingError: There is no such folder, or nothing can be written into it.
    """
    if not folder.is_dir():
        raise RecordingError(
            f"{folder} is no folder.", hint="Runs land in bench/traces unless --output says else."
        )
    page = folder / INDEX
    entries = entries_of(runs_in(folder))
    if not entries:
        _log.warning("There is no run in %s: a run is a folder with a recording.json.", folder)
    text = render_index(entries, folder.resolve().name, redact=redaction(()))
    write_whole(page, text.encode())
    return page


def runs_in(folder: Path) -> Iterator[Unread]:
    """Yield every run's folder right below a folder, in the order of their names."""
    for place in sorted(folder.iterdir()):
        recording = Recording(place)
        if recording.provenance_file.exists():
            yield _read(recording)


def _read(recording: Recording) -> Unread:
    name, files = recording.folder.name, _files(recording)
    try:
        provenance = recording.provenance()
    except TracekitError as error:
        return Unread(name, None, None, error.message, files)
    if recording.gputrace.exists():
        return Unread(name, provenance, None, "A GPU frame capture: nothing was timed.", files)
    result, trouble = _result(recording, provenance)
    return Unread(name, result.provenance if result else provenance, result, trouble, files)


def _result(recording: Recording, provenance: Provenance) -> tuple[Result | None, str]:
    if not recording.result_file.exists():
        stages = provenance.unfinished or provenance.stages
        far = ", ".join(f"{name} {stage.state}" for name, stage in stages.items())
        again = f"tracekit analyze {quoted(Path(recording.folder.name))}"
        return None, f"Not analyzed yet ({far or 'nothing was done'}): {again}."
    try:
        return load(recording.result_file), ""
    except TracekitError as error:
        _log.info("A result cannot be read.", exc_info=True)
        return None, error.message


def _files(recording: Recording) -> dict[str, str]:
    known = (
        (recording.report_file, "report"),
        (recording.result_file, "result"),
        (recording.bundle, "trace"),
        (recording.gputrace, "capture"),
    )
    return {file.name: words for file, words in known if file.exists()}
