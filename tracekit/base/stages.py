"""The stages of a run: one runs within `running`, which notes its state in `recording.json`."""

import contextlib
from collections.abc import Generator

from tracekit.base.checksums import noting
from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.base.files import quote_path
from tracekit.base.recording import Recording

NEXT = {"record": "export", "export": "analyze", "analyze": "report", "import": "analyze"}


@contextlib.contextmanager
def running(recording: Recording, name: str) -> Generator[None]:
    """Mark the stage as running, and then as done, interrupted or failed; note its checksums.

    KeyboardInterrupt becomes InterruptedRunError, which says how to go on.
    """
    with noting(recording.folder, name):
        mark(recording, name, "running")
        try:
            yield
        except (KeyboardInterrupt, InterruptedRunError) as stop:
            with contextlib.suppress(TracekitError):
                mark(recording, name, "interrupted", str(stop))
            raise InterruptedRunError(
                f"Interrupted while the stage `{name}` ran; {recording.folder} keeps the files "
                "so far.",
                hint=resume(recording, name),
            ) from stop
        except BaseException as error:
            with contextlib.suppress(TracekitError):
                mark(recording, name, "failed", str(error))
            raise
        mark(recording, name, "done")


def mark(recording: Recording, name: str, state: str, message: str = "") -> None:
    """Write the state of one stage into `recording.json`."""
    provenance = recording.provenance()
    recording.save_provenance(provenance.note_stage(name, state, message))


def resume(recording: Recording, name: str) -> str:
    """Return advice to go on: after a recording with its export, else with the same stage again."""
    if name == "record" and not (recording.bundle.exists() or recording.host_bundle.exists()):
        return "Nothing was saved; record again."
    command = name
    if name in {"record", "import"}:
        command = NEXT[name]
    return f"Go on with `tracekit {command} {quote_path(recording.folder)}`."
