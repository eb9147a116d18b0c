"""What opens a run's page, bundle or GPU frame capture, and in which Instruments."""

import platform
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracekit.base import Recording, RecordingError, ToolError, quote_path
from tracekit.record.xctrace.command import Run, check, run
from tracekit.record.xctrace.templates import instruments_app
from tracekit.record.xctrace.tool import find_xctrace

What = Literal["page", "trace", "gputrace"]

_SECONDS = 60.0


@dataclass(frozen=True)
class Opening:
    """The file that is opened, the command line that does it, and what to know about it."""

    kind: What
    path: Path
    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def opening(
    recording: Recording, kind: What | None = None, *, system: str = sys.platform, run: Run = run
) -> Opening:
    """Say how to open `kind` of a run: its page, or the capture of a run that has only that.

    A bundle is opened by the Instruments of the Xcode that recorded it, else of the selected one.
    Away from macOS neither can be opened; the page is taken instead, with a warning. Raise
    RecordingError where there is no such file, ToolError where there is no page either.
    """
    provenance, page = recording.provenance(), recording.report_file
    if kind is None:
        kind = "gputrace" if recording.gputrace.exists() and not page.exists() else "page"
    path = _existing(recording, kind)
    opener, warnings = ("open" if system == "darwin" else "xdg-open"), ()
    if kind != "page" and system != "darwin":
        app = "Instruments" if kind == "trace" else "Xcode"
        message = f"{app} opens {path.name}, and runs on macOS only; this is {platform.system()}."
        if not page.exists():
            raise ToolError(message, hint=f"Copy {path} to a Mac.")
        kind, path, warnings = "page", page.resolve(), (f"{message} The page is opened instead.",)
    if kind != "trace":
        return Opening(kind, path, (opener, str(path)), warnings)
    app = instruments_app(next((line[0] for line in provenance.command_lines if line), ""))
    if app is None and (tool := find_xctrace(run)) is not None:
        app = instruments_app(tool.path)
    return Opening(kind, path, ("open", "-a", str(app or "Instruments"), str(path)))


def perform(planned_opening: Opening, run: Run = run) -> None:
    """Open it; raise ToolError where nothing here can."""
    if planned_opening.kind != "page":
        check(run(planned_opening.argv, _SECONDS))
    elif not webbrowser.open(planned_opening.path.as_uri()):
        raise ToolError("No browser could be started.", hint=f"Open {planned_opening.path} in one.")


def _existing(recording: Recording, kind: What) -> Path:
    path, missing_part, hint = {
        "page": (
            recording.report_file,
            "page yet",
            f"`tracekit report {quote_path(recording.folder)}` draws it, after export and analyze.",
        ),
        "trace": (
            recording.bundle,
            "bundle of xctrace",
            "Only recordings of xctrace have one; open the page.",
        ),
        "gputrace": (
            recording.gputrace,
            "GPU frame capture",
            "`tracekit capture --gputrace` makes one.",
        ),
    }[kind]
    if path.exists():
        return path.resolve()
    if kind != "page" and (pruned := recording.provenance().pruning_note):
        hint = f"It was pruned: {pruned}. Pin a run to keep it whole."
    raise RecordingError(f"{recording.folder} has no {missing_part}.", hint=hint)
