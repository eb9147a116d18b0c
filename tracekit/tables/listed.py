"""A table that a folder or a bundle holds, before anything of it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracekit.tables.place import Place, described
from tracekit.tables.stored import stored


@dataclass(frozen=True)
class Listed:
    """A table that a file holds, and what tells it from others of its schema.

    `unreadable` says why nothing can be known of its rows; empty where it can be read.
    """

    file: Path
    schema: str
    place: Place
    attributes: Mapping[str, str]
    rows: bool
    unreadable: str = ""

    def __str__(self) -> str:
        """Name it for a sentence: a table of a bundle by its place alone."""
        where = described(self.place, self.attributes)
        return where if stored(self.file) is not None else f"{where} in {self.file.name}"
