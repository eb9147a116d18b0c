"""The choice of a recorder that records, or that exports an earlier recording."""

import shutil
from typing import TYPE_CHECKING

from tracekit import analysis, tables
from tracekit.base import Recording, RecordingError, ToolError
from tracekit.record.recorder import Recorder, running
from tracekit.record.requirements import require_timing
from tracekit.record.xctrace.tool import Xctrace, find_xctrace, locate

if TYPE_CHECKING:
    from tracekit.record.xctrace.exporting import Choose


def choose_used_schemas(there: frozenset[str]) -> frozenset[str]:
    """Return the schemas that metrics and rules make use of, of those that are there."""
    return tables.schemas.needed_schemas(analysis.used_tables() & set(tables.SCHEMAS), there)


def choose(name: str, choose_schemas: "Choose" = choose_used_schemas) -> Recorder:
    """Return the recorder of that name; `auto` is xctrace if this machine has it, else host.

    `choose_schemas` selects the schemas that it exports. Raise ToolError if xctrace was asked for
    by name, and cannot be used on this machine.
    """
    # A command that asks for the state of a run, or of this machine, needs no recorder.
    from tracekit.record.host.recorder import HostRecorder  # noqa: PLC0415
    from tracekit.record.xctrace.recorder import XctraceRecorder  # noqa: PLC0415

    if name == "xctrace":
        return XctraceRecorder(xctrace_here(), choose_schemas)
    tool = None
    if name == "auto":
        tool = find_xctrace()
    if tool is None:
        return HostRecorder()
    return XctraceRecorder(tool, choose_schemas)


def require_process(pid: int) -> None:
    """Raise UsageError if there is no process of this number to attach to."""
    running(pid)


def xctrace_here() -> Xctrace:
    """Return the xctrace of this machine; raise ToolError with the reason if it is unusable."""
    if shutil.which("xcrun") is None:
        raise ToolError(
            "There is no xctrace on this machine.",
            hint="It comes with Xcode, on macOS. `--recorder host` measures on the CPU instead.",
        )
    return locate()


def recorder_for(recording: Recording, choose_schemas: "Choose") -> Recorder:
    """Return the recorder that can export the run's bundle, limited to the chosen schemas.

    Raise RecordingError if the run has no bundle, or one that is read directly on a machine without
    xctrace; ToolError if the bundle is one of xctrace and this machine has none.
    """
    require_timing(recording)
    if recording.host_bundle.is_dir():
        return choose("host")
    if recording.bundle.exists():
        if tables.DirectNote.read(recording.exports) is not None and find_xctrace() is None:
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
