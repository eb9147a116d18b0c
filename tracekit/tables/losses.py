"""The parts of a recording that were not read, or are not credible.

A reader makes a `Loss` for each part that it cannot read, and returns it with the rows that it
read. It also reports it to the active ledger: a command collects losses for as long as it runs, so
that no path through its code can leave a loss out of its words and its exit code.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding or a loss: errors make numbers void, warnings cost something."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """The place among all severities; 0 is the worst."""
        return list(Severity).index(self)


class Flaw(StrEnum):
    """A kind of defect in a recording, or in an export of it."""

    DAMAGED = "damaged"  # rows are missing
    UNNAMED = "unnamed"  # names are missing, or are not those that Instruments shows
    LACKING = "lacking"  # columns that tracekit knows are missing
    UNKNOWN = "unknown"  # there are columns that tracekit does not know
    CHANGED = "changed"  # cells hold values that their column does not declare
    UNREADABLE = "unreadable"  # no table can be made of it
    IMPOSSIBLE = "impossible"  # rows are impossible, and are left out of derived tables
    UNSURE = "unsure"  # values were never compared, or come from a second source
    NOTED = "noted"  # nothing is wrong, but the reader should know

    @property
    def severity(self) -> Severity:
        """The severity of its losses; damage that costs rows or names is an error."""
        if self in {Flaw.DAMAGED, Flaw.UNNAMED}:
            return Severity.ERROR
        if self in {Flaw.UNKNOWN, Flaw.NOTED}:
            return Severity.NOTE
        return Severity.WARNING


class EncodingEvidence(StrEnum):
    """The evidence for an encoding."""

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
    """One part of a recording that was not read, or is not credible.

    Attributes:
        flaw: The kind of defect, which determines the severity.
        text: The sentence; "" if it is made from `evidence` and the columns of several tables.
        table: The table of tracekit that was made; "" if it is not about one.
        schema: The table in the trace; "" if it is not about one, or that is not known.
        columns: The columns of `schema` that it is about; empty for all of them.
        rows: The number of rows that it is about; None if that is not known, or for all.
        run: The run of the trace; None for all of them.
        evidence: The evidence for the encoding of the columns, for an UNSURE loss.
        bundle: The name of the bundle, if `evidence` is given.
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
        """The severity of its flaw."""
        return self.flaw.severity

    def __str__(self) -> str:
        return sentences([self])[0]


def sentences(losses: Iterable[Loss], *, bundles: bool = True) -> tuple[str, ...]:
    """Return losses in sentences, each once; those of one evidence in a bundle become one.

    It takes the place of the first of them. Without the names of `bundles`, sentences on several
    bundles are equal.
    """
    groups: dict[str | tuple[str, EncodingEvidence], list[Loss]] = {}
    for loss in dict.fromkeys(losses):
        key = loss.text if loss.evidence is None else (loss.bundle, loss.evidence)
        groups.setdefault(key, []).append(loss)
    texts: list[str] = []
    for key, members in groups.items():
        if isinstance(key, str):
            texts.append(key)
        else:
            _, evidence = key
            texts.append(_sentence(evidence, members, bundles=bundles))
    return tuple(texts)


def _sentence(evidence: EncodingEvidence, losses: Sequence[Loss], *, bundles: bool) -> str:
    first_loss = losses[0]
    words = _UNSURE[evidence]
    if len(losses) == 1:
        columns = ", ".join(first_loss.columns)
        sentence = f"{first_loss.schema}: {words}: {columns}."
    else:
        schema_words = [f"{loss.schema} ({', '.join(loss.columns)})" for loss in losses]
        sentence = f"{words}: {', '.join(schema_words)}."
    if bundles and first_loss.bundle:
        return f"{first_loss.bundle}: {sentence}"
    return sentence


@dataclass(frozen=True)
class LossRow:
    """A loss as a row of documents and of the table `losses`; unknown values are None."""

    table: str | None
    schema: str | None
    column: str | None
    rows: int | None
    severity: Severity
    flaw: Flaw
    text: str


def rows_of(losses: Iterable[Loss]) -> tuple[LossRow, ...]:
    """Return losses as rows, each once."""
    rows: list[LossRow] = []
    for loss in dict.fromkeys(losses):
        columns = ", ".join(loss.columns)
        row = LossRow(
            table=loss.table or None,
            schema=loss.schema or None,
            column=columns or None,
            rows=loss.rows,
            severity=loss.severity,
            flaw=loss.flaw,
            text=str(loss),
        )
        rows.append(row)
    return tuple(rows)


LOSSES = "losses"
"""The table that holds the losses of all other tables of a run."""


@dataclass(frozen=True)
class ReportedLosses:
    """Losses as they were reported: those of requested tables, and those of other parts."""

    requested: tuple[Loss, ...] = ()
    others: tuple[Loss, ...] = ()

    def report(self) -> None:
        """Report them once more, to the ledger that is active now."""
        report(self.requested)
        report(self.others, read=False)


class Ledger:
    """The losses that were reported while it was active."""

    def __init__(self) -> None:
        self._reported: dict[Loss, bool] = {}

    def add(self, losses: Iterable[Loss], *, read: bool = True) -> None:
        """Add losses; those that are `read` are of requested tables, the others of other parts."""
        for loss in losses:
            was_read = self._reported.get(loss, False)
            self._reported[loss] = was_read or read

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All losses, each once, in the order in which they were reported."""
        return tuple(self._reported)

    @property
    def read(self) -> tuple[Loss, ...]:
        """The losses of requested tables."""
        return tuple([loss for loss, read in self._reported.items() if read])

    @property
    def reported(self) -> ReportedLosses:
        """All losses, parted by what they are about."""
        others = [loss for loss, read in self._reported.items() if not read]
        return ReportedLosses(self.read, tuple(others))

    @property
    def costs(self) -> tuple[Loss, ...]:
        """The losses of rows or names of requested tables by damage."""
        return tuple([loss for loss in self.read if loss.severity is Severity.ERROR])


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def collecting() -> Generator[Ledger]:
    """Collect the losses that are reported in this context; an outer ledger does not get them."""
    with _activating(Ledger()) as ledger:
        yield ledger


@contextmanager
def overhearing() -> Generator[Ledger]:
    """Collect the losses that are reported in this context; an outer ledger gets them, too."""
    ledger = Ledger()
    try:
        with _activating(ledger):
            yield ledger
    finally:
        ledger.reported.report()


@contextmanager
def _activating(ledger: Ledger) -> Generator[Ledger]:
    token = _ledger.set(ledger)
    try:
        yield ledger
    finally:
        _ledger.reset(token)


def report(losses: Iterable[Loss], *, read: bool = True) -> None:
    """Report losses to the active ledger, if there is one; see `Ledger.add`."""
    ledger = _ledger.get()
    if ledger is not None:
        ledger.add(losses, read=read)


def list_reported_losses() -> tuple[str, ...]:
    """Return the losses that were reported so far, in sentences; none without a ledger."""
    ledger = _ledger.get()
    if ledger is None:
        return ()
    return sentences(ledger.losses)
