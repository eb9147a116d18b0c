"""The parts of a run that later stages require: its times, its exports, its targets.

A stage that reads a run imports this alone, and no recorder.
"""

from collections.abc import Sequence

from tracekit import tables
from tracekit.base import Process, Recording, RecordingError, files

GPUTRACE = "gputrace"
"""The recorder that a run has which Metal captured; it has no recorder of ours."""


def require_timing(recording: Recording) -> None:
    """Raise RecordingError if the run is a GPU frame capture, in which nothing was timed.

    A capture that can be read has tables, and they can be judged.
    """
    is_capture = recording.provenance().recorder == GPUTRACE
    if is_capture and tables.DirectNote.read(recording.exports) is None:
        raise RecordingError(
            f"{recording.folder} is a GPU frame capture: nothing of it was timed, so there is "
            "nothing to measure.",
            hint=f"`tracekit open {recording.folder}` opens it in Xcode; to measure, record "
            "without --gputrace.",
        )


def require_exports(recording: Recording) -> None:
    """Raise RecordingError if the run has no exports, so that there is nothing to analyze."""
    exported_files = set(tables.exports.export_files(recording.exports))
    is_pruned = (recording.exports / tables.exports.PRUNED_NOTE).exists()
    note = tables.DirectNote.read(recording.exports)
    if not exported_files and not is_pruned and note is None:
        raise RecordingError(
            f"{recording.folder} has no exports to analyze.",
            hint=f"Run `tracekit export {files.quote_path(recording.folder)}` first.",
        )
    if note is None:
        return
    bundle = note.path(recording.exports)
    has_exports = is_pruned or exported_files - {recording.toc_file}
    if not bundle.exists() and not has_exports:
        raise RecordingError(
            f"The tables of {recording.folder} are read from {bundle}, which is not there.",
            hint="Put the bundle back, or import it again.",
        )


def run_and_targets(
    recording: Recording, number: int | None = None
) -> tuple[int | None, frozenset[int]]:
    """Return the run that tables are read of, and the pids of its targets.

    `number` selects a run of its trace; None selects the recording's own run. Raise UsageError if
    there is no such run.
    """
    provenance = recording.provenance()
    if number is None or number == provenance.run:
        return provenance.run, _pids_of(provenance.targets)
    run, _ = tables.exports.select_run(
        tables.exports.index(recording.exports), recording.exports, number
    )
    if run is None or provenance.recorder != "import":
        return number, _pids_of(provenance.targets)
    if run.target is None:
        return number, frozenset()
    return number, frozenset({run.target.pid})


def _pids_of(targets: Sequence[Process]) -> frozenset[int]:
    return frozenset(target.pid for target in targets)
