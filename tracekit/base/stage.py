"""How far a run came: each stage leaves its state in `recording.json`."""

import contextlib
from collections.abc import Generator
from dataclasses import replace

from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.base.recording import Recording, Stage, now, quoted

NEXT = {"record": "export", "export": "analyze", "analyze": "report", "import": "analyze"}


@contextlib.contextmanager
def stage(recording: Recording, name: str) -> Generator[None]:
    """Mark the stage as running, and then as done, interrupted or failed.

    KeyboardInterrupt becomes InterruptedRunError, which says how to go on.
    """
    mark(recording, name, "running")
    try:
        yield
    except (KeyboardInterrupt, InterruptedRunError) as stop:
        with contextlib.suppress(TracekitError):
            mark(recording, name, "interrupted", str(stop))
        raise InterruptedRunError(
            f"Interrupted while the stage `{name}` ran; {recording.folder} keeps what there is.",
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
    stages = {**provenance.stages, name: Stage(state, now(), message)}
    recording.save_provenance(replace(provenance, stages=stages))


def resume(recording: Recording, name: str) -> str:
    """Say how to go on: after a recording with its export, else with the same stage again."""
    if name == "record" and not (recording.bundle.exists() or recording.host_bundle.exists()):
        return "Nothing was saved; record again."
    follow = NEXT[name] if name in {"record", "import"} else name
    return f"Go on with `tracekit {follow} {quoted(recording.folder)}`."
