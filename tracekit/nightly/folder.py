"""A night's folder: its name, and the one document in it."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tracekit.errors import InputError, RecordingError
from tracekit.history.night import FORMAT, Night
from tracekit.recording import save

DOCUMENT = "night.json"
_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # none that is taken for another, or for a digit


@dataclass(frozen=True)
class NightFolder:
    """The folder of one night and the names in it."""

    folder: Path

    @property
    def document(self) -> Path:
        """What the night found, as far as it came."""
        return self.folder / DOCUMENT

    @property
    def page(self) -> Path:
        """All series up to this night, on one page beside the nights."""
        return self.folder.parent / "trend.html"

    def capture(self, name: str) -> Path:
        """Return the folder that takes the traced runs of one capture."""
        return self.folder / name

    def save(self, night: Night) -> None:
        """Write the document, whole or not at all; raise RecordingError where that fails."""
        save(self.document, night)

    def load(self) -> Night:
        """Read the document.

        Raises:
            RecordingError: There is none.
            InputError: It cannot be understood, or a newer tracekit wrote it.
        """
        try:
            night = msgspec.json.decode(self.document.read_bytes(), type=Night)
        except FileNotFoundError:
            raise RecordingError(
                f"{self.folder} is not a night's folder: it has no {DOCUMENT}.",
                hint="`tracekit nightly` makes one.",
            ) from None
        except msgspec.MsgspecError as error:
            raise InputError(f"{self.document} cannot be read: {error}") from error
        if night.format > FORMAT:
            raise InputError(
                f"{self.document} has format {night.format}; this tracekit reads up to {FORMAT}.",
                hint="Use the tracekit that wrote it, or a newer one.",
            )
        return night


def night_id(begun: datetime) -> str:
    """Name a night by its start in UTC; a few random letters tell machines apart."""
    tail = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{begun.astimezone(UTC):%Y-%m-%dT%H-%M-%S}-{tail}"


def claim(output: Path, identity: str) -> NightFolder:
    """Make a night's folder; raise RecordingError where that cannot be done."""
    folder = output / identity
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise RecordingError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            hint="Let `output` of the plan name a folder that you may write to.",
        ) from error
    return NightFolder(folder)


def nights_in(output: Path) -> list[NightFolder]:
    """Return the folders of nights in `output`, oldest first by name."""
    return [NightFolder(one.parent) for one in sorted(output.glob(f"*/{DOCUMENT}"))]
