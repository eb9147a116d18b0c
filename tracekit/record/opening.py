"""How to open a run's page, bundle or GPU frame capture, and in which Instruments."""

import platform
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracekit.base import Provenance, Recording, RecordingError, ToolError, files
from tracekit.record.xctrace.command import Run, check, run
from tracekit.record.xctrace.templates import instruments_app
from tracekit.record.xctrace.tool import find_xctrace

What = Literal["page", "trace", "gputrace"]

_SECONDS = 60.0
_RECORDER = "xctrace"


@dataclass(frozen=True)
class Opening:
    """The file to open, the command line that opens it, and warnings."""

    kind: What
    path: Path
    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def opening(
    recording: Recording, kind: What | None = None, *, system: str = sys.platform, run: Run = run
) -> Opening:
    """Return how to open `kind` of a run: its page, or the capture of a run that has only that.

    A bundle is opened by the Instruments of the Xcode that recorded it, else of the selected one.
    Away from macOS neither can be opened; the page is taken instead, with a warning. Raise
    RecordingError if there is no such file, ToolError if there is no page either.
    """
    provenance = recording.provenance()
    page = recording.report_file
    if kind is None:
        kind = "page"
        if recording.gputrace.exists() and not page.exists():
            kind = "gputrace"
    path = _existing(recording, kind)
    on_mac = system == "darwin"
    opener = "open" if on_mac else "xdg-open"
    if kind != "page" and not on_mac:
        app = "Instruments" if kind == "trace" else "Xcode"
        message = f"{app} opens {path.name}, and runs on macOS only; this is {platform.system()}."
        if not page.exists():
            raise ToolError(message, hint=f"Copy {path} to a Mac.")
        warnings = (f"{message} The page is opened instead.",)
        page = page.resolve()
        return Opening("page", page, (opener, str(page)), warnings)
    if kind != "trace":
        return Opening(kind, path, (opener, str(path)))
    app = _find_instruments(provenance, run)
    return Opening(kind, path, ("open", "-a", str(app or "Instruments"), str(path)))


def _find_instruments(provenance: Provenance, run: Run) -> Path | None:
    """Return the Instruments of the Xcode that recorded a run, else of the selected one."""
    recorder = ""
    for line in provenance.command_lines:  # that of a worker that was attached to comes first
        if line and Path(line[0]).name == _RECORDER:
            recorder = line[0]
    app = instruments_app(recorder)
    if app is not None:
        return app
    tool = find_xctrace(run)
    if tool is None:
        return None
    return instruments_app(tool.path)


def perform(planned_opening: Opening, run: Run = run) -> None:
    """Open a file as planned; raise ToolError if no program of this machine can."""
    if planned_opening.kind != "page":
        check(run(planned_opening.argv, _SECONDS))
    elif not webbrowser.open(planned_opening.path.as_uri()):
        raise ToolError("No browser could be started.", hint=f"Open {planned_opening.path} in one.")


def _existing(recording: Recording, kind: What) -> Path:
    match kind:
        case "page":
            path = recording.report_file
            missing_part = "page yet"
            folder = files.quote_path(recording.folder)
            hint = f"`tracekit report {folder}` draws it, after export and analyze."
        case "trace":
            path = recording.bundle
            missing_part = "bundle of xctrace"
            hint = "Only recordings of xctrace have one; open the page."
        case "gputrace":
            path = recording.gputrace
            missing_part = "GPU frame capture"
            hint = "`tracekit capture --gputrace` makes one."
    if path.exists():
        return path.resolve()
    if kind != "page":
        pruning_note = recording.provenance().pruning_note
        if pruning_note:
            hint = f"It was pruned: {pruning_note}. Pin a run to keep it whole."
    raise RecordingError(f"{recording.folder} has no {missing_part}.", hint=hint)
