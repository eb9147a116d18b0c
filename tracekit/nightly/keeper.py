"""The night while it runs: every pair is on the disk before the next one begins."""

from collections.abc import Iterable
from dataclasses import replace

from tracekit.nightly.folder import NightFolder
from tracekit.nightly.history.night import Entry, Night, Pair


class Keeper:
    """A night that grows: what was measured is written down at once."""

    def __init__(self, folder: NightFolder, night: Night) -> None:
        self.folder = folder
        self.night = night
        folder.save(night)

    def entry(self, capture: str) -> Entry:
        """Return what is known of a capture that was begun."""
        return next(one for one in self.night.entries if one.capture == capture)

    def put(self, entry: Entry) -> None:
        """Keep a capture in the place of what was known of it, or as the last one."""
        known = [one.capture for one in self.night.entries]
        if entry.capture not in known:
            self._save(replace(self.night, entries=(*self.night.entries, entry)))
            return
        entries = list(self.night.entries)
        entries[known.index(entry.capture)] = entry
        self._save(replace(self.night, entries=tuple(entries)))

    def add(self, capture: str, pair: Pair) -> None:
        """Add a pair to a capture that was begun."""
        entry = self.entry(capture)
        self.put(replace(entry, pairs=(*entry.pairs, pair)))

    def end(self, night: Night) -> None:
        """Put the whole night in the place of the one so far."""
        self._save(night)

    def warn(self, warnings: Iterable[str]) -> None:
        """Add what a reader must know, each sentence once."""
        told = tuple(dict.fromkeys((*self.night.warnings, *warnings)))
        self._save(replace(self.night, warnings=told))

    def _save(self, night: Night) -> None:
        if night != self.night:
            self.folder.save(night)
            self.night = night
