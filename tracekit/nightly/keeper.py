"""The night while it runs: every pair is on the disk before the next one begins."""

from dataclasses import replace

from tracekit.history.night import Entry, Night, Pair
from tracekit.nightly.folder import NightFolder


class Keeper:
    """A night that grows: what was measured is written down at once."""

    def __init__(self, folder: NightFolder, night: Night) -> None:
        self.folder = folder
        self.night = night
        folder.save(night)

    @property
    def entry(self) -> Entry:
        """The capture that is being measured: the last one begun."""
        return self.night.entries[-1]

    def begin(self, entry: Entry) -> None:
        """Begin a capture."""
        self._save(replace(self.night, entries=(*self.night.entries, entry)))

    def add(self, pair: Pair) -> None:
        """Add a pair to the capture that is being measured."""
        self.update(replace(self.entry, pairs=(*self.entry.pairs, pair)))

    def update(self, entry: Entry) -> None:
        """Put `entry` in the place of the capture that is being measured."""
        self._save(replace(self.night, entries=(*self.night.entries[:-1], entry)))

    def end(self, night: Night) -> None:
        """Put the whole night in the place of the one so far."""
        self._save(night)

    def warn(self, *warnings: str) -> None:
        """Add what a reader must know, each sentence once."""
        told = tuple(dict.fromkeys((*self.night.warnings, *warnings)))
        self._save(replace(self.night, warnings=told))

    def _save(self, night: Night) -> None:
        if night != self.night:
            self.folder.save(night)
            self.night = night
