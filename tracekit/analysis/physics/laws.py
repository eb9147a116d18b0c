"""The laws that recorded rows keep, and how a row breaks one.

Each was held against all real recordings of the corpus: what they break is no law. The page
`docs/explanation/rows-that-cannot-be.md` lists the few real rows that do break one.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

FEW = 0.05
"""Of the rows that a law was asked of. What breaks it more often is not a row gone wrong, but two
tables, or a table and the recording, that do not fit together."""


class Stake(StrEnum):
    """What becomes unsure by rows that cannot be."""

    DEVICE = "device time and idle time"
    WAYS = "the causes of idle time"
    ENCODING = "the host's time"
    STATES = "states of the device"
    COUNTERS = "limiters of kernels"
    SAMPLES = "threads and functions of the host"


class Cost(StrEnum):
    """What is not believed of rows that break a law, and is left out of what is made of them."""

    ROW = "row"
    LENGTH = "length"  # it began, but when it ended is not known
    NOTHING = "nothing"  # the rows stay, and what needs the table abstains, or rows are missing


@dataclass(frozen=True)
class Law:
    """What a row cannot be: its `name`, and the `words` of a sentence about such a row."""

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
    the law, ns, where that can be said. `share` is theirs of all rows that the law was asked of.
    They cost NOTHING where they are too many to be rows gone wrong; `witness` is then the table
    that contradicts this one.
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
        """How many rows they are, or are missing."""
        return self.missing or self.start.size

    @property
    def worst(self) -> int | None:
        """By how much the worst of them breaks the law, ns; None where that cannot be said."""
        return int(self.excess.max()) if self.excess.size else None


Flags = NDArray[np.bool_]
