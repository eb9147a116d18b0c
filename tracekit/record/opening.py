"""What opens a run's page, bundle or GPU frame capture, and in which Instruments."""

import platform
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracekit.base import Provenance, Recording, RecordingError, ToolError, TracekitError
from tracekit.record.xctrace.command import Run, check, run
from tracekit.record.xctrace.templates.settings import instruments_app
from tracekit.record.xctrace.tool import Xctrace, find_xctrace, read_version

What = Literal["page", "trace", "gputrace"]

_MAC = "darwin"
_SECONDS = 60.0
_NO_CAPTURE = "`tracekit capture --gputrace` makes one."


@dataclass(frozen=True)
class Opening:
    """The file that is opened, the command line that does it, and what to know about it."""

    what: What
    path: Path
    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def opening(
    recording: Recording, what: What | None = None, *, system: str = sys.platform, run: Run = run
) -> Opening:
    """Say how to open `what` of a run: its page, or the capture of a run that has only that.

    Away from macOS a bundle cannot be opened; the page is taken instead, with a warning.

    Raises:
        RecordingError: The folder is no run's, or it has no such file; the hint says what to do.
        ToolError: It can only be opened on a Mac, and there is no page either.
    """
    provenance = recording.provenance()
    if what is None:
        captured = recording.gputrace.exists() and not recording.report_file.exists()
        what = "gputrace" if captured else "page"
    path = _existing(recording, what)
    if what == "page":
        return Opening(what, path, ("open" if system == _MAC else "xdg-open", str(path)))
    if system != _MAC:
        return _page_instead(recording, path, what)
    if what == "gputrace":
        return Opening(what, path, ("open", str(path)))
    return _in_instruments(provenance, path, run)


def perform(one: Opening, run: Run = run) -> None:
    """Open it; raise ToolError where nothing here can."""
    if one.what != "page":
        check(run(one.argv, _SECONDS))
    elif not webbrowser.open(one.path.as_uri()):
        raise ToolError("No browser could be started.", hint=f"Open {one.path} in one.")


def _existing(recording: Recording, what: What) -> Path:
    path, lacking, hint = {
        "page": (recording.report_file, "page yet", _way_to_a_page(recording)),
        "trace": (recording.bundle, "bundle of xctrace", _why_no_bundle(recording)),
        "gputrace": (recording.gputrace, "GPU frame capture", _pruned(recording) or _NO_CAPTURE),
    }[what]
    if not path.exists():
        raise RecordingError(f"{recording.folder} has no {lacking}.", hint=hint)
    return path.resolve()


def _way_to_a_page(recording: Recording) -> str:
    if recording.result_file.exists():
        return f"`tracekit report {recording.folder}` draws it."
    if recording.exports.is_dir():
        return f"`tracekit analyze {recording.folder}`, then `tracekit report`."
    if recording.bundle.exists() or recording.host_bundle.exists():
        return f"`tracekit export {recording.folder}`, then `tracekit analyze` and `report`."
    return "Nothing was recorded; record again."


def _pruned(recording: Recording) -> str:
    """Say what was removed to make room; empty where nothing was."""
    pruned = recording.provenance().pruned
    return f"It was pruned: {pruned}. Pin a run to keep it whole." if pruned else ""


def _why_no_bundle(recording: Recording) -> str:
    if pruned := _pruned(recording):
        return pruned
    if recording.host_bundle.exists():
        return "The host recorder's samples are nothing that Instruments reads; open the page."
    if recording.exports.is_dir():
        return "It was deleted, or stayed where the exports were made; open the page."
    return "Nothing was recorded; record again."


def _page_instead(recording: Recording, path: Path, what: What) -> Opening:
    app = "Instruments" if what == "trace" else "Xcode"
    sentence = f"{app} opens {path.name}, and runs on macOS only; this is {platform.system()}."
    if not recording.report_file.exists():
        raise ToolError(sentence, hint=f"Copy {path} to a Mac.")
    page = opening(recording, "page", system="")
    return Opening(page.what, page.path, page.argv, (f"{sentence} The page is opened instead.",))


def _in_instruments(provenance: Provenance, path: Path, run: Run) -> Opening:
    """Take the Instruments of the Xcode that recorded, else of the selected one."""
    recorded = next((line[0] for line in provenance.command_lines if line), "")
    app = instruments_app(recorded)
    tool = Xctrace(recorded, run) if app is not None else find_xctrace(run)
    if tool is None:
        warning = "Which Xcode is here could not be found out; macOS chooses the Instruments."
        return Opening("trace", path, ("open", "-a", "Instruments", str(path)), (warning,))
    app = app or instruments_app(tool.path)
    name = str(app) if app is not None else "Instruments"
    return Opening("trace", path, ("open", "-a", name, str(path)), _other_build(provenance, tool))


def _other_build(provenance: Provenance, tool: Xctrace) -> tuple[str, ...]:
    """Say so if the bundle was recorded by another build of Xcode than the one that opens it."""
    before = read_version(provenance.recorder_version).build
    try:
        now = tool.version
    except TracekitError as error:
        return (f"Which build of Xcode opens it is not known: {error.message}",)
    if not before or not now.build or before == now.build:
        return ()
    return (f"Recorded with build {before} of Xcode, opened with build {now.build}.",)
