"""The account that a recording of the host recorder keeps of itself, next to its samples."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from tracekit.base import (
    InputError,
    Process,
    Recording,
    RecordingError,
    documents,
    files,
    make_timestamp,
    own_version,
)
from tracekit.tables import Toc, TocRun, toc


@dataclass(frozen=True)
class HostSession:
    """One recording: its process, its times and its end."""

    pid: int
    name: str
    kind: Literal["launched", "attached"]
    arguments: tuple[str, ...] = ()
    origin: int = 0  # the moment on the monotonic clock, in ns, that is time 0 of the trace
    started: str = ""  # the same in ISO 8601
    program_start: int = 0  # the moment at which a launched program began; 0 in an older recording
    end: int = 0  # the last moment; 0 in a recording that was never closed
    ended: str = ""
    end_reason: str = ""
    # negative when a signal ended it, None when the process was not ours to wait for
    exit_status: int | None = None
    time_limit: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def process(self) -> Process:
        """The recorded process."""
        return Process(self.pid, self.name)

    @property
    def seconds(self) -> float:
        """Its duration up to its last moment; 0 in a recording that was never closed."""
        return max(0, self.end - self.origin) / 1e9


def prepare_bundle(recording: Recording) -> None:
    """Make the folder of a bundle, without the samples of an earlier try."""
    try:
        recording.host_bundle.mkdir(parents=True, exist_ok=True)
        recording.host_samples.unlink(missing_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{recording.host_bundle} cannot be written: {error.strerror}.",
            hint=files.remedy(error, "--output"),
        ) from error


def close(
    recording: Recording,
    session: HostSession,
    reason: str,
    status: int | None = None,
    *,
    moment: int | None = None,
) -> HostSession:
    """Note the end of the recording, with the reason and the exit status.

    It ended at the `moment` of the program's exit, in monotonic ns; now if that is not known.
    """
    closed = replace(
        session,
        end=moment or time.monotonic_ns(),
        ended=make_timestamp(),
        end_reason=reason,
        exit_status=status,
    )
    documents.save(recording.host_session, closed)
    return closed


def load_session(recording: Recording) -> HostSession:
    """Read `session.json`; raise RecordingError without one, InputError if it cannot be read."""
    file = recording.host_session
    try:
        return documents.decode_json(files.read_input(file), HostSession)
    except FileNotFoundError:
        raise RecordingError(f"{file.parent} holds no recording of the host recorder.") from None
    except msgspec.MsgspecError as error:
        raise InputError(f"{file} cannot be read: {error}.") from error


def write_toc(
    path: Path, session: HostSession, schemas: Sequence[str], *, last_moment: int = 0
) -> None:
    """Write the TOC of a session and its tables, in order; `last_moment` is in ns.

    It names neither machine nor user, and no template: it is not a trace of Instruments.
    """
    machine = session.machine
    system_words = [str(machine.get(key, "")) for key in ("system", "release")]
    arguments = ""
    if session.kind == "launched":
        arguments = shlex.join(session.arguments)
    exit_status = ""
    if session.exit_status is not None:
        exit_status = str(session.exit_status)
    end = session.end or last_moment
    seconds = max(0, end - session.origin) / 1e9
    tables = [toc.TocTable(place, schema) for place, schema in enumerate(schemas, start=1)]
    run = TocRun(
        number=1,
        device={
            "platform": str(machine.get("system", "")),
            "model": str(machine.get("chip", "")),
            "os-version": " ".join(system_words).strip(),
        },
        target=session.process,
        target_type=session.kind,
        arguments=arguments,
        exit_status=exit_status,
        termination_reason=_termination_reason(session.exit_status),
        start_date=session.started,
        end_date=session.ended,
        duration=round(seconds, 6),
        end_reason=session.end_reason,
        instruments_version=f"tracekit host recorder {own_version()}",
        recording_mode="Host",
        time_limit=f"{session.time_limit:g} seconds",
        processes=(session.process,),
        tables=tuple(tables),
    )
    files.write_whole(path, toc.toc_text(Toc((run,))).encode())


def _termination_reason(exit_status: int | None) -> str:
    """Return the words of a TOC for an exit status; empty if it is unknown."""
    if exit_status is None:
        return ""
    if exit_status < 0:
        return f"signal({-exit_status})"
    return f"exit({exit_status})"
