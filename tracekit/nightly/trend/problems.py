"""Findings over time: rule by night, in how many traces, what appeared and what went away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from tracekit.nightly.history.night import Found
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.words import day, several


@dataclass(frozen=True)
class Stretch:
    """Nights in a row of which the same is known.

    Attributes:
        begin: The place of the first among the course's nights.
        nights: How many.
        share: In which share of the traces the rule found something; None where none was made.
        words: All this in words.
    """

    begin: int
    nights: int
    share: float | None
    words: str


@dataclass(frozen=True)
class Row:
    """What became of one rule's finding."""

    rule: str
    severity: str
    message: str
    became: str
    stands: bool
    stretches: tuple[Stretch, ...]


def rows_of(course: Course) -> tuple[Row, ...]:
    """Return the findings of a course by rule: those that stand, then those that went."""
    rules = dict.fromkeys(
        found.rule
        for one in course.fared
        for found in (one.entry.findings if one.entry else ())
        if found.traces
    )
    rows = [_row(rule, course.fared) for rule in rules]
    return tuple(sorted(rows, key=lambda one: (not one.stands, one.rule)))


def looked(fared: Fared) -> bool:
    """Tell whether a night has traces of the capture, so that a finding could be in them."""
    entry = fared.entry
    return entry is not None and (bool(entry.findings) or any(one.traced for one in entry.pairs))


def found_in(fared: Fared, rule: str) -> Found | None:
    """Return what a rule found in a night; None where it found nothing."""
    findings = fared.entry.findings if fared.entry else ()
    return next((one for one in findings if one.rule == rule and one.traces), None)


def _row(rule: str, fared: Sequence[Fared]) -> Row:
    known = [one for one in fared if looked(one)]
    there = [found for one in known if (found := found_in(one, rule)) is not None]
    last = there[-1]
    now = found_in(known[-1], rule)
    became = list(_turns(rule, known))
    if now is not None:
        became.append(f"now in {now.traces} of {several(now.of, 'trace')}")
        if now.in_reference:
            became.append(f"the reference has it in {now.in_reference}")
    words = " · ".join(became)
    return Row(
        rule, last.severity, last.message, words, now is not None, tuple(_stretches(rule, fared))
    )


def _turns(rule: str, known: Sequence[Fared]) -> Iterator[str]:
    """Yield when a finding appeared and when it went away; of many turns the last ones."""
    turns: list[str] = []
    if found_in(known[0], rule):
        turns.append(f"since the first night, {day(known[0].at)}")
    for before, after in pairwise(known):
        was, there = found_in(before, rule), found_in(after, rule)
        if (was is None) is not (there is None):
            turns.append(f"{'appeared' if there else 'gone on'} {day(after.at)}")
    most = 4
    if len(turns) > most:
        yield f"{len(turns) - most} turns before"
    yield from turns[-most:]


def _stretches(rule: str, fared: Sequence[Fared]) -> Iterator[Stretch]:
    begin = 0
    for key, group in groupby(fared, key=lambda one: _state(one, rule)):
        held = list(group)
        days = dict.fromkeys((day(held[0].at), day(held[-1].at)))
        share = None if key is None else key[0] / max(1, key[1])
        words = (
            "no traces"
            if key is None
            else f"found in {key[0]} of {several(key[1], 'trace')}"
            if key[0]
            else "not found"
        )
        yield Stretch(begin, len(held), share, f"{' to '.join(days)}: {words}")
        begin += len(held)


def _state(fared: Fared, rule: str) -> tuple[int, int] | None:
    if not looked(fared):
        return None
    found = found_in(fared, rule)
    return (found.traces, found.of) if found else (0, 0)
