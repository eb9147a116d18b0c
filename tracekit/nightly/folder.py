"""A night's folder: its name, and the one document in it."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tracekit.base.errors import RecordingError
from tracekit.base.recording import save
from tracekit.nightly.history.night import DOCUMENT, Night
from tracekit.nightly.history.store.document import night_in

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
        """All series up to the last night, on one page beside the nights."""
        return self.folder.parent / "trend.html"

    def save(self, night: Night) -> None:
        """Write the document, whole or not at all; raise RecordingError where that fails."""
        save(self.document, night)

    def load(self) -> Night:
        """Read the document.

        Raises:
            RecordingError: There is none.
            InputError: It cannot be understood, or a newer tracekit wrote it.
        """
        night = night_in(self.folder)
        if night is None:
            raise RecordingError(
                f"{self.folder} is not a night's folder: it has no {DOCUMENT}.",
                hint="`tracekit nightly` makes one.",
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
