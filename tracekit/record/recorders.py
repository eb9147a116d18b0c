"""The choice of a recorder, and the files that later stages require of a run."""

import shutil

from tracekit.analysis import used_tables
from tracekit.base import Recording, RecordingError, ToolError, files
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.recorder import Recorder
from tracekit.record.xctrace.exporting import Choose
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Xctrace, find_xctrace, locate
from tracekit.tables import SCHEMAS, DirectNote, exports, schemas

GPUTRACE = "gputrace"  # not a recorder, but noted in its place in a run that Metal captured


def choose_used_schemas(there: frozenset[str]) -> frozenset[str]:
    """Return the schemas that metrics and rules make use of, of those that are there."""
    return schemas.needed_schemas(used_tables() & set(SCHEMAS), there)


def choose(name: str, choose_schemas: Choose = choose_used_schemas) -> Recorder:
    """Return the recorder of that name; `auto` is xctrace if this machine has it, else host.

    `choose_schemas` selects the schemas that it exports. Raise ToolError if xctrace was asked for
    by name, and cannot be used on this machine.
    """
    if name == "xctrace":
        return XctraceRecorder(xctrace_here(), choose_schemas)
    tool = None
    if name == "auto":
        tool = find_xctrace()
    if tool is None:
        return HostRecorder()
    return XctraceRecorder(tool, choose_schemas)


def xctrace_here() -> Xctrace:
    """Return the xctrace of this machine; raise ToolError with the reason if it is unusable."""
    if shutil.which("xcrun") is None:
        raise ToolError(
            "There is no xctrace on this machine.",
            hint="It comes with Xcode, on macOS. `--recorder host` measures on the CPU instead.",
        )
    return locate()


def recorder_for(recording: Recording, choose_schemas: Choose) -> Recorder:
    """Return the recorder that can export the run's bundle, limited to the chosen schemas.

    Raise RecordingError if the run has no bundle, or one that is read directly on a machine without
    xctrace; ToolError if the bundle is one of xctrace and this machine has none.
    """
    require_timing(recording)
    if recording.host_bundle.is_dir():
        return HostRecorder()
    if recording.bundle.exists():
        if DirectNote.read(recording.exports) is not None and find_xctrace() is None:
            raise RecordingError(
                f"{recording.folder} needs no export: its tables are read from its bundle.",
                hint="Go on with `tracekit analyze`.",
            )
        return choose("xctrace", choose_schemas)
    reason = ""
    pruned = recording.provenance().pruning_note
    if pruned:
        reason = f": it was pruned ({pruned})"
    hint = "Nothing was recorded; record again."
    if recording.exports.is_dir():
        hint = "Its tables were exported before: go on with `tracekit analyze`."
    raise RecordingError(f"{recording.folder} has no bundle to export{reason}.", hint=hint)


def require_timing(recording: Recording) -> None:
    """Raise RecordingError if the run is a GPU frame capture, in which nothing was timed."""
    if recording.provenance().recorder == GPUTRACE:
        raise RecordingError(
            f"{recording.folder} is a GPU frame capture: nothing of it was timed, so there is "
            "nothing to measure.",
            hint=f"`tracekit open {recording.folder}` opens it in Xcode; to measure, record "
            "without --gputrace.",
        )


def require_exports(recording: Recording) -> None:
    """Raise RecordingError if the run has no exports, so that there is nothing to analyze."""
    exported_files = set(exports.export_files(recording.exports))
    is_pruned = (recording.exports / exports.PRUNED_NOTE).exists()
    note = DirectNote.read(recording.exports)
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
