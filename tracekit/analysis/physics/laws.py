"""The laws that recorded rows keep, and how a row breaks one.

Each was checked against all real recordings of the corpus: a rule that they break is not a law. The
page `docs/explanation/rows-that-cannot-be.md` lists the few real rows that do break one.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

Flags = NDArray[np.bool_]

FEW = 0.05
"""Share of the rows that a law was applied to. If more rows break it, they are not rows gone wrong,
but two tables, or a table and the recording, that do not fit together."""


class Stake(StrEnum):
    """The results that become uncertain through impossible rows."""

    DEVICE = "device time and idle time"
    WAYS = "the causes of idle time"
    ENCODING = "the host's time"
    STATES = "states of the device"
    COUNTERS = "limiters of kernels"
    SAMPLES = "threads and functions of the host"


class Cost(StrEnum):
    """The part of rows that break a law which is not believed, and left out of all results."""

    ROW = "row"
    LENGTH = "length"  # it began, but its end is not known
    NOTHING = "nothing"  # the rows stay, and users of the table abstain, or rows are missing


@dataclass(frozen=True)
class Law:
    """A law that no row breaks: its `name`, and the `words` of a sentence about a row that does."""

    name: str
    words: str


_LAWS = (
    Law("ends-before-start", "ends before it starts"),
    Law("no-length", "takes no time"),
    Law("longer-than-recording", "lasts longer than was recorded"),
    Law("before-recording", "lies before the recording"),
    Law("after-recording", "lies behind the recording's end"),
    Law("zero-time", "has the time 0, as another row has"),
    Law("duplicate", "repeats another row cell by cell"),
    Law("two-at-once", "had not ended when the next on its lane of the channel started"),
    Law("outlasts-report", "outlasts the report that its command buffer was complete"),
    Law("reported-before-start", "reports a command buffer complete whose work had not started"),
    Law("reported-before-commit", "reports a command buffer complete that was not committed yet"),
    Law("negative-latency", "started before it was handed over, by its own latency"),
    Law("committed-after-start", "hands a command buffer over whose work had started"),
    Law("encoded-after-commit", "encodes into a command buffer that had been committed"),
    Law("before-launch", "belongs to a process that had not been created yet"),
    Law("over-100-percent", "is a share of less than 0 or more than 100 %"),
    Law("two-states-at-once", "shares its time with another state of the device"),
    Law("more-than-wall-time", "is of a thread that was seen to run for longer than time went by"),
    Law("missing-number", "is missing, though another table has its number"),
)
LAWS = {law.name: law for law in _LAWS}
"""All laws, by name."""


@dataclass(frozen=True, eq=False)
class Breach:
    """Rows of one table that break one law.

    `start` and `end` are the times that the rows state, ns; `excess` is by how much each breaks
    the law, ns, if that is known. `share` is their share of all rows that the law was applied to.
    They cost NOTHING if they are too many to be rows gone wrong; `witness` is then the table that
    contradicts this one. `missing` is the number of rows that another table names and this one
    lacks; then there are no times.
    """

    law: Law
    table: str
    start: Times
    end: Times
    stake: Stake
    share: float
    excess: Times = field(default_factory=lambda: np.empty(0, np.int64))
    cost: Cost = Cost.ROW
    witness: str = ""
    missing: int = 0

    @property
    def rows(self) -> int:
        """The number of the rows, or of the missing ones."""
        return self.missing or self.start.size

    @property
    def worst(self) -> int | None:
        """By how much the worst of them breaks the law, in ns; None if that is not known."""
        if not self.excess.size:
            return None
        return int(self.excess.max())
