"""The scores as tables for a terminal and for a page of the docs."""

from collections.abc import Iterable
from typing import Any

from labelled.judged import Judged, Verdict
from labelled.tally import Tally

_BEGIN, _END = "<!-- written by tests/exam/labelled/score.py -->", "<!-- end -->"
_HEADS = (
    *("rule", "faults", "found", "wrong alarms", "precision", "recall"),
    *("estimates", "median error", "within 25 %"),
)


def rows(tally: Tally) -> list[tuple[str, ...]]:
    """Return one row of words for each rule."""
    return [
        (
            score.rule,
            str(score.found + score.missed),
            str(score.found),
            str(score.false),
            _share(score.precision),
            _share(score.recall),
            str(len(score.errors)) if score.errors else "",
            _percent(score.median_error),
            _percent(score.near),
        )
        for score in tally.scores.values()
    ]


def markdown(tally: Tally) -> str:
    """Return the scores as tables of Markdown."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|---|{'---:|' * (len(_HEADS) - 1)}"]
    lines += [f"| `{name}` | {' | '.join(rest)} |" for name, *rest in rows(tally)]
    lines += ["", "| cause of idle time | of all idle time | right |", "|---|---:|---:|"]
    whole = sum(tally.idle.values()) or 1
    for cause, time in sorted(tally.idle.items(), key=lambda one: -one[1]):
        lines.append(
            f"| {cause} | {_percent(time / whole)} | {_percent(tally.right[cause] / (time or 1))} |"
        )
    lines += [f"| all | | {_percent(tally.causes_right)} |", "", _clean(tally)]
    return "\n".join(lines) + "\n"


def inserted(page: str, tables: str) -> str:
    """Put the tables between the marks of a page; raise ValueError where it has none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page has no place for tables: {_BEGIN} and {_END}")
    return f"{before}{begin}\n\n{tables}\n{end}{after}"


def plain(tally: Tally) -> str:
    """Return the scores as a table for a terminal."""
    table = [_HEADS, *rows(tally)]
    widths = [max(len(row[place]) for row in table) for place in range(len(_HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    lines += ["", f"causes of idle time that are right: {_percent(tally.causes_right)}"]
    for cause, time in sorted(tally.idle.items(), key=lambda one: -one[1]):
        share = _percent(tally.right[cause] / (time or 1))
        lines.append(f"  {cause:15} {share:>6} of {time / 1e9:.2f} s")
    lines += ["", _clean(tally)]
    return "\n".join(lines)


def as_data(tally: Tally) -> dict[str, Any]:
    """Return the scores as numbers, for a program."""
    return {
        "traces": tally.traces,
        "clean": tally.clean,
        "alarms": tally.alarms,
        "causes": {"idle": tally.idle, "right": tally.right, "share": tally.causes_right},
        "rules": {
            score.rule: {
                "found": score.found,
                "missed": score.missed,
                "false": score.false,
                "failed": score.failed,
                "precision": score.precision,
                "recall": score.recall,
                "median_error": score.median_error,
                "near": score.near,
            }
            for score in tally.scores.values()
        },
    }


def listed(wrong: Iterable[tuple[Judged, Verdict]]) -> str:
    """List what went wrong, for whoever tunes a rule."""
    return "\n".join(
        f"{verdict.rule}: seed {one.trace.seed} ({', '.join(one.trace.faults) or 'clean'}) "
        f"should {verdict.label.value}, is {verdict.status}, size "
        f"{'-' if verdict.size is None else f'{verdict.size:.2f}'} of its limit: {verdict.said}"
        for one, verdict in wrong
    )


def estimated(far_off: Iterable[tuple[Judged, Verdict]]) -> str:
    """List estimates beside what the faults cost, for whoever tunes a rule."""
    return "\n".join(
        f"{verdict.rule}: seed {one.trace.seed} ({', '.join(one.trace.faults)}) estimates "
        f"{(verdict.saving or 0) / 1e6:.2f} ms, costs {(verdict.cost or 0) / 1e6:.2f} ms"
        for one, verdict in far_off
    )


def _clean(tally: Tally) -> str:
    return (
        f"{tally.alarms} of {tally.clean} clean traces raise a wrong alarm; "
        f"{tally.traces} traces in all."
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
