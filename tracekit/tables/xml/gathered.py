"""What rows say, as lists; what they repeat is looked up afterwards, all at once.

Values have numbers in the order in which their elements end. A part of a compound is the number
of its value, or where it is a repeat -2 - k for the k-th repeat within compounds, or -1 for null.
"""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from tracekit.tables.xml.symbols import STACK_TYPES

SENTINEL = "sentinel"
IDENTITIES = ("process", "thread")
NOTHING = -1
ADDRESSES = -1
KINDS = {
    **dict.fromkeys(IDENTITIES, "identity"),
    **dict.fromkeys(STACK_TYPES, "stack"),
    **{tag: tag for tag in ("frame", "binary", "source")},
}


class Gathered:
    """The values, cells and repeats of some rows, in the order of the document."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Take the tags that the columns declare."""
        self.columns = list(columns)
        self.lines: list[int] = []  # of rows
        self.repeated: list[pa.Array] = []  # by cells, null where they repeat nothing
        self.own: list[int] = []  # the values of those that are none
        self.strange: list[tuple[int, str]] = []  # cells under another tag than declared
        self.ids: list[str | None] = []
        self.tags: list[str] = []
        self.texts: list[str | None] = []
        self.links: list[tuple[int, int]] = []  # a value, its number among those of its kind
        self.repeats: list[str | None] = []  # those within compounds
        self.runs: list[tuple[int, int, str]] = []  # values before, so many repeats, their tag
        self.identities: list[tuple[int, int, int]] = []  # pid, tid, process
        self.binaries: list[tuple[str | None, ...]] = []
        self.sources: list[tuple[str | None, int]] = []  # line, path
        self.frames: list[tuple[str | None, str | None, int, int]] = []  # … binary, source
        self.frames_of_stacks: list[int] = []
        self.depths: list[int] = []  # of stacks; ADDRESSES where it is such
        self.addresses: list[list[int]] = []  # the program counter first
        self.wrapped: list[tuple[int, int]] = []  # a stack, the one that it is
        self.worded: list[tuple[int, list[int], str]] = []  # a text that follows from parts

    @property
    def cells(self) -> pa.Array:
        """What cells repeat, by row and column; null where they repeat nothing."""
        return pa.concat_arrays(self.repeated) if self.repeated else pa.nulls(0, pa.string())

    def cut(self, rows: int) -> None:
        """Forget all rows but the first ones."""
        cells = self.cells[: rows * len(self.columns)]
        self.lines, self.repeated = self.lines[:rows], [cells]
        del self.own[cells.null_count :]
        values = max(self.own, default=NOTHING) + 1
        for some in (self.ids, self.tags, self.texts):
            del some[values:]
        self.strange = [one for one in self.strange if one[0] < len(cells)]
        self.links = [one for one in self.links if one[0] < values]
        self.runs = [one for one in self.runs if one[0] < values]
        self.wrapped = [one for one in self.wrapped if one[0] < values]
        self.worded = [one for one in self.worded if one[0] < values]
        del self.repeats[sum(count for _, count, _ in self.runs) :]
        self._cut_kinds(Counter(KINDS[self.tags[value]] for value, _ in self.links))

    def _cut_kinds(self, left: Counter[str]) -> None:
        del self.identities[left["identity"] :], self.binaries[left["binary"] :]
        del self.sources[left["source"] :], self.frames[left["frame"] :]
        del self.depths[left["stack"] :]
        bare = self.depths.count(ADDRESSES)
        del self.addresses[bare:], self.frames_of_stacks[sum(self.depths) - bare * ADDRESSES :]
