"""A verification in words: a line for each question, or one for the whole where all is well."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracekit.lab.verification.verdict import Moved, Outcome, Verdict, Verification

_WIDTH = 30


def case(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the name and the chosen parameters, as they would be given again."""
    return " ".join([name, *(f"{_option(key)} {value}" for key, value in parameters.items())])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def in_short(one: Verification) -> Iterator[str]:
    """Return a line that counts the answers, then what was not found well, and where."""
    counts = {
        outcome: sum(verdict.outcome is outcome for verdict in one.verdicts) for outcome in Outcome
    }
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    yield f"{case(one.name, one.parameters)}: {told}"
    for verdict in one.defects:
        yield from _lines(verdict)


def in_full(one: Verification) -> Iterator[str]:
    """Return every answer, the kernels that were launched, and the bytes that they moved."""
    yield case(one.name, one.parameters)
    for verdict in one.verdicts:
        if verdict.outcome is not Outcome.NOT_CHECKED:
            yield from _lines(verdict)
    yield from _unasked(one.verdicts)
    for name in dict.fromkeys(moved.kernel for moved in one.traffic):
        yield from _table(name, [moved for moved in one.traffic if moved.kernel == name])


def _lines(verdict: Verdict) -> Iterator[str]:
    mark = "ok" if verdict.outcome is Outcome.PASSED else "DEFECT"
    yield f"  {verdict.question:<{_WIDTH}}{mark:<8}{verdict.detail}".rstrip()
    yield from (f"      {line}" for line in verdict.excerpt)


def _unasked(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Return what was not checked, a line for each reason."""
    unasked = [one for one in verdicts if one.outcome is Outcome.NOT_CHECKED]
    for why in dict.fromkeys(one.detail for one in unasked):
        questions = ", ".join(one.question for one in unasked if one.detail == why)
        yield f"  not checked, because {why}: {questions}"


def _table(kernel: str, moved: Sequence[Moved]) -> Iterator[str]:
    yield f"  {kernel}"
    rows = [("buffer", "bytes loaded", "stored", "touched", "loads of a byte")]
    for one in moved:
        again = f"{one.loaded / one.touched:.1f}" if one.touched and one.loaded else ""
        rows.append((one.buffer, f"{one.loaded:,}", f"{one.stored:,}", f"{one.touched:,}", again))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"    {'  '.join(cells)}".rstrip()
