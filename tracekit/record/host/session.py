"""What one recording of the host recorder knows of itself, beside its samples."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from tracekit.base import InputError, RecordingError, now, save


@dataclass(frozen=True)
class Session:
    """One recording: of whom, when, and how it ended.

    `origin` is the moment on the monotonic clock, in ns, that is time 0 of the trace, `end`
    the last one; `started` and `ended` are the same in ISO 8601. `end` is 0 in a recording
    that was never closed. `exit_status` is None when the process was not ours to wait for,
    negative when a signal ended it.
    """

    pid: int
    name: str
    kind: Literal["launched", "attached"]
    arguments: tuple[str, ...] = ()
    origin: int = 0
    started: str = ""
    end: int = 0
    ended: str = ""
    end_reason: str = ""
    exit_status: int | None = None
    time_limit: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Bundle:
    """The folder `recording.host` and the names in it."""

    folder: Path

    @property
    def session(self) -> Path:
        """What the recording knows of itself."""
        return self.folder / "session.json"

    @property
    def samples(self) -> Path:
        """The raw samples, one JSON object a line, as they came."""
        return self.folder / "samples.jsonl"

    @property
    def stdout(self) -> Path:
        """What the target said."""
        return self.folder / "stdout.txt"

    @property
    def stderr(self) -> Path:
        """What the target complained of."""
        return self.folder / "stderr.txt"


def fresh(folder: Path) -> Bundle:
    """Make the folder of a bundle, without the samples of an earlier try."""
    bundle = Bundle(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        bundle.samples.unlink(missing_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{folder} cannot be written: {error.strerror}.",
            hint="Make room or name another folder with --output.",
        ) from error
    return bundle


def close(bundle: Bundle, session: Session, reason: str, status: int | None = None) -> Session:
    """Note that the recording ends now, why, and with what exit status."""
    closed = replace(
        session, end=time.monotonic_ns(), ended=now(), end_reason=reason, exit_status=status
    )
    save(bundle.session, closed)
    return closed


def load_session(bundle: Bundle) -> Session:
    """Read `session.json`; raise where there is none, or one that cannot be understood."""
    try:
        return msgspec.json.decode(bundle.session.read_bytes(), type=Session)
    except FileNotFoundError:
        raise RecordingError(f"{bundle.folder} holds no recording of the host recorder.") from None
    except msgspec.MsgspecError as error:
        raise InputError(f"{bundle.session} cannot be read: {error}.") from error
