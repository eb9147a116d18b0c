"""Which recorder serves: xctrace where it is, the host recorder everywhere else."""

import shutil

from tracekit.errors import RecordingError, ToolError
from tracekit.host.recorder import HostRecorder
from tracekit.recorder import Recorder
from tracekit.recording import Recording, quoted
from tracekit.tables.schemas import SCHEMAS
from tracekit.xctrace.recorder import XctraceRecorder
from tracekit.xctrace.tool import Xctrace, find_xctrace, locate

RECORDERS = ("auto", "xctrace", "host")
GPUTRACE = "gputrace"  # no recorder: what stands in a run that Metal captured instead


def choose(name: str) -> Recorder:
    """Return the recorder of that name; `auto` is xctrace if this machine has it, else host.

    Raises:
        ToolError: xctrace was asked for by name, and cannot be used here; it says why.
    """
    if name == "xctrace":
        return XctraceRecorder(xctrace_here(), _traced_schemas())
    tool = find_xctrace() if name == "auto" else None
    return HostRecorder() if tool is None else XctraceRecorder(tool, _traced_schemas())


def xctrace_here() -> Xctrace:
    """Return the xctrace of this machine; raise ToolError that says why it cannot be used."""
    if shutil.which("xcrun") is None:
        raise ToolError(
            "There is no xctrace on this machine.",
            hint="It comes with Xcode, on macOS. `--recorder host` measures on the CPU instead.",
        )
    return locate()


def recorder_for(recording: Recording) -> Recorder:
    """Return the recorder that can export the run's bundle.

    Raises:
        RecordingError: The folder is no run's, or the run has no bundle: it was imported, or
            recording never began.
        ToolError: The bundle is one of xctrace, which is not here.
    """
    require_timing(recording)
    if recording.host_bundle.is_dir():
        return HostRecorder()
    if recording.bundle.exists():
        return choose("xctrace")
    raise RecordingError(
        f"{recording.folder} has no bundle to export.",
        hint="An imported run has its exports already: go on with `tracekit analyze`."
        if recording.exports.is_dir()
        else "Nothing was recorded; record again.",
    )


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
    """Raise RecordingError if the run has no exports: of nothing, nothing could be said."""
    if not any(recording.exports.glob("*.xml")):
        raise RecordingError(
            f"{recording.folder} has no exports to analyze.",
            hint=f"Run `tracekit export {quoted(recording.folder)}` first.",
        )


def _traced_schemas() -> frozenset[str]:
    """Return the schemas of a trace that the normalized tables are made of."""
    sources = (source for schema in SCHEMAS.values() for source in schema.sources)
    return frozenset(source.schema for source in sources if source.clock == "gpu")
