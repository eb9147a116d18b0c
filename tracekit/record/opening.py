"""What opens a run's page, bundle or GPU frame capture, and in which Instruments."""

import platform
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracekit.base import Provenance, Recording, RecordingError, ToolError, quoted
from tracekit.record.xctrace.command import Run, check, run
from tracekit.record.xctrace.templates.settings import instruments_app
from tracekit.record.xctrace.tool import find_xctrace

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
    pruned = recording.provenance().pruned
    gone = f"It was pruned: {pruned}. Pin a run to keep it whole." if pruned else ""
    folder = quoted(recording.folder)
    path, lacking, hint = {
        "page": (
            recording.report_file,
            "page yet",
            f"`tracekit report {folder}` draws it, after `tracekit export` and `analyze`.",
        ),
        "trace": (
            recording.bundle,
            "bundle of xctrace",
            gone or "Only recordings of xctrace have one; open the page.",
        ),
        "gputrace": (recording.gputrace, "GPU frame capture", gone or _NO_CAPTURE),
    }[what]
    if not path.exists():
        raise RecordingError(f"{recording.folder} has no {lacking}.", hint=hint)
    return path.resolve()


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
    if app is None and (tool := find_xctrace(run)) is not None:
        app = instruments_app(tool.path)
    return Opening("trace", path, ("open", "-a", str(app or "Instruments"), str(path)))
