"""How many times quicker one subject is than another of its family."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracekit.base.paired import paired_ratio
from tracekit.lab.bench.document import Comparison, Row
from tracekit.lab.bench.subject import Subject


def compared(rows: Sequence[Row], subjects: Sequence[Subject], against: str | None) -> list[Row]:
    """Fill in each row's speed-up against its family's naive subject, and against `against`.

    Only those of one family do the same work; others have no ratio.
    """
    by_name = {row.name: row for row in rows}
    naive = {one.family: one.name for one in subjects if one.naive}
    return [
        replace(
            row,
            speed_up=_comparison(row, naive.get(row.family), by_name),
            against=_comparison(row, against, by_name),
        )
        for row in rows
    ]


def _comparison(row: Row, other: str | None, rows: Mapping[str, Row]) -> Comparison | None:
    if other is None or other == row.name or row.micro is None:
        return None
    base = rows.get(other)
    if base is not None and base.family != row.family:
        return None
    if base is None or base.micro is None:
        return Comparison(other, reason=f"{other} was not measured")
    return quicker(row.micro.samples, base.micro.samples, other)


def quicker(ours: Sequence[float], theirs: Sequence[float], other: str) -> Comparison:
    """Compare samples of the same rounds: how many times as long the other takes."""
    pairs = min(len(ours), len(theirs))
    if min((*ours[:pairs], *theirs[:pairs]), default=0) <= 0:
        return Comparison(other, reason="a sample took no time that this clock can see")
    found = paired_ratio(theirs[:pairs], ours[:pairs])
    return Comparison(other, found.median, found.low, found.high, found.pairs)
