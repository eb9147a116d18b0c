"""What was not read of a recording, or not believed.

A reader makes a `Loss` where it sees one, and returns it with the rows that it read. It is also
reported to the ledger of whoever collects: a command collects for as long as it runs, so that no
path through its code can leave a loss out of its words and its exit code.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding or a loss matters: errors make numbers void, warnings cost something."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Flaw(StrEnum):
    """What is not as it should be in a recording, or in an export of it."""

    DAMAGED = "damaged"  # rows are missing
    UNNAMED = "unnamed"  # names are missing, or are not those that Instruments shows
    LACKING = "lacking"  # columns that tracekit knows are not there
    UNKNOWN = "unknown"  # columns are there that tracekit does not know
    CHANGED = "changed"  # cells hold something other than what their column declares
    UNREADABLE = "unreadable"  # no table can be made of it
    IMPOSSIBLE = "impossible"  # rows cannot be, and are left out of what is made of them
    UNSURE = "unsure"  # what was read was never compared, or comes from a second source
    NOTED = "noted"  # nothing is wrong, but it is to be known

    @property
    def severity(self) -> Severity:
        """How much it matters; an error is what damage cost: rows, or names."""
        if self in {Flaw.DAMAGED, Flaw.UNNAMED}:
            return Severity.ERROR
        if self in {Flaw.UNKNOWN, Flaw.NOTED}:
            return Severity.NOTE
        return Severity.WARNING


class EncodingEvidence(StrEnum):
    """How surely an encoding is known."""

    VERIFIED = "compared with exports"
    INFERRED = "never compared with an export"
    RAW = "not known; the stored numbers are given as they are"
    NONE = "not known; its cells are left empty"


_UNSURE = {
    EncodingEvidence.INFERRED: "read by an encoding that was never compared with an export",
    EncodingEvidence.RAW: "of a type that is not known, the numbers as they are stored",
    EncodingEvidence.NONE: "left empty, because how the type is stored is not known",
}


@dataclass(frozen=True)
class Loss:
    """One thing that was not read, or not believed.

    Attributes:
        flaw: What is wrong; it says how much it matters.
        text: The sentence; empty where `evidence` makes it, of the columns of several tables.
        table: The table of tracekit that was made; empty where it is not about one.
        schema: The table in the trace; empty where it is not about one, or that is not known.
        columns: Which columns of `schema` it is about; empty for all of them.
        rows: How many rows it is about; None where that is not known, or all.
        run: The run of the trace; None for all of them.
        evidence: How surely the columns were read, of an UNSURE one.
        bundle: What the bundle is called, where `evidence` is given.
    """

    flaw: Flaw
    text: str = ""
    table: str = ""
    schema: str = ""
    columns: tuple[str, ...] = ()
    rows: int | None = None
    run: int | None = None
    evidence: EncodingEvidence | None = None
    bundle: str = ""

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.flaw.severity

    def __str__(self) -> str:
        return sentences([self])[0]


def sentences(losses: Iterable[Loss], *, bundles: bool = True) -> tuple[str, ...]:
    """Return losses in sentences, each once; those of one evidence in a bundle become one.

    It stands where the first of them stood. Without the names of `bundles`, those on several
    bundles are alike.
    """
    groups: dict[str | tuple[str, EncodingEvidence], list[Loss]] = {}
    for loss in dict.fromkeys(losses):
        key = loss.text if loss.evidence is None else (loss.bundle, loss.evidence)
        groups.setdefault(key, []).append(loss)
    return tuple(
        key if isinstance(key, str) else _sentence(key[1], members, bundles=bundles)
        for key, members in groups.items()
    )


def _sentence(evidence: EncodingEvidence, losses: Sequence[Loss], *, bundles: bool) -> str:
    first_loss = losses[0]
    columns = [", ".join(loss.columns) for loss in losses]
    words = f"{first_loss.bundle}: " if bundles and first_loss.bundle else ""
    if len(losses) == 1:
        return f"{words}{first_loss.schema}: {_UNSURE[evidence]}: {columns[0]}."
    schema_words = (
        f"{loss.schema} ({column_words})"
        for loss, column_words in zip(losses, columns, strict=True)
    )
    return f"{words}{_UNSURE[evidence]}: {', '.join(schema_words)}."


@dataclass(frozen=True)
class LossRow:
    """A loss as documents and the table `losses` have it; what is not known is None."""

    table: str | None
    schema: str | None
    column: str | None
    rows: int | None
    severity: Severity
    flaw: Flaw
    text: str


def rows_of(losses: Iterable[Loss]) -> tuple[LossRow, ...]:
    """Return losses as rows, each once."""
    return tuple(
        LossRow(
            loss.table or None,
            loss.schema or None,
            ", ".join(loss.columns) or None,
            loss.rows,
            loss.severity,
            loss.flaw,
            str(loss),
        )
        for loss in dict.fromkeys(losses)
    )


LOSSES = "losses"
"""The table that holds the losses of all other tables of a run."""


class Ledger:
    """The losses that were reported while somebody collected."""

    def __init__(self) -> None:
        self._reported: dict[Loss, bool] = {}

    def add(self, losses: Iterable[Loss], *, read: bool = True) -> None:
        """Enter losses; those that are `read` are of what was asked for, others lie beside it."""
        for loss in losses:
            self._reported[loss] = self._reported.get(loss, False) or read

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All of them, each once, in the order in which they were reported."""
        return tuple(self._reported)

    @property
    def read(self) -> tuple[Loss, ...]:
        """Those of what was asked for."""
        return tuple(loss for loss, read in self._reported.items() if read)

    @property
    def costs(self) -> tuple[Loss, ...]:
        """Those by which damage cost rows or names of what was asked for."""
        return tuple(loss for loss in self.read if loss.severity is Severity.ERROR)


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def collecting() -> Generator[Ledger]:
    """Collect what is reported meanwhile; an outer ledger does not get it."""
    ledger = Ledger()
    token = _ledger.set(ledger)
    try:
        yield ledger
    finally:
        _ledger.reset(token)


def report(losses: Iterable[Loss], *, read: bool = True) -> None:
    """Report losses to whoever collects; see `Ledger.add`."""
    ledger = _ledger.get()
    if ledger is not None:
        ledger.add(losses, read=read)


def list_reported_losses() -> tuple[str, ...]:
    """Return what was reported so far, in sentences; nothing where nobody collects."""
    ledger = _ledger.get()
    if ledger is None:
        return ()
    return sentences(ledger.losses)
