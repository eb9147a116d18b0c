"""A batch as a page: what failed, what was found, how numbers are spread, and each recording."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tracekit.analysis.metrics import METRICS
from tracekit.base.units import duration, quantity
from tracekit.fleet.batch.report.entry import Entry
from tracekit.fleet.batch.report.spread import alike, spreads
from tracekit.report.render import Redact, document, environment_of

MOST_LINES = 2_000
"""How many recordings are listed; the data set has all of them."""
_MOST_REASONS = 25
_MOST_EXAMPLES = 3
_MOST_FINDINGS = 3
_SHOWN = ("tokens_per_second", "step_p50", "gpu_busy", "idle_ratio", "gpu_idle_ratio", "host_busy")
_MOST_NUMBERS = 2
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Line:
    """A recording as the template shows it; `numbers` are names and values."""

    entry: Entry
    details: str
    lasted: str
    numbers: tuple[tuple[str, str], ...]
    said: tuple[str, ...]
    rules: str


@dataclass(frozen=True)
class Rule:
    """What one rule found over all recordings; savings are in words."""

    name: str
    recordings: int
    share: float
    usual: str
    total: str


@dataclass(frozen=True)
class Reason:
    """Why recordings failed, how many, and the names of some."""

    error: str
    hint: str
    recordings: int
    names: tuple[str, ...]


def render_batch(entries: Sequence[Entry], name: str, *, redact: Redact) -> str:
    """Return the page over all recordings of a batch.

    Its size is bounded: of many recordings those that failed and those with findings are listed
    first, and the page says how many are left out.

    Args:
        entries: The recordings, in any order.
        name: What the batch's folder is called.
        redact: Takes out of a string what must not be shown.
    """
    ranked = sorted(entries, key=lambda one: one.rank)
    good = [one for one in ranked if not one.failed]
    return document(
        environment_of(redact),
        "batch/page.html",
        styles=("page.css", "index/index.css", "batch/batch.css"),
        scripts=(),
        name=name,
        all=len(ranked),
        failed=len(ranked) - len(good),
        found=sum(bool(one.findings) for one in good),
        lines=[_line(one) for one in ranked[:MOST_LINES]],
        left=max(0, len(ranked) - MOST_LINES),
        rules=list(_rules(good)),
        reasons=list(_reasons(ranked)),
        charts=list(spreads(good)),
        alike=alike(good),
    )


def _line(entry: Entry) -> Line:
    about = (entry.workload, entry.target, entry.device, entry.template, entry.instruments)
    known = [name for name in _SHOWN if name in entry.metrics][:_MOST_NUMBERS]
    return Line(
        entry,
        details=" · ".join(dict.fromkeys(one for one in about if one)),
        lasted="" if entry.duration is None else duration(entry.duration * _NS_PER_S),
        numbers=tuple((one, quantity(entry.metrics[one], METRICS[one].unit)) for one in known),
        said=tuple(one.message for one in entry.findings[:1]),
        rules=", ".join(dict.fromkeys(one.rule for one in entry.findings[:_MOST_FINDINGS])),
    )


def _rules(entries: Sequence[Entry]) -> Iterator[Rule]:
    savings: dict[str, list[float]] = {}
    tally: Counter[str] = Counter()
    for entry in entries:
        tally.update({one.rule for one in entry.findings})
        for one in entry.findings:
            if one.saving_ms is not None:
                savings.setdefault(one.rule, []).append(one.saving_ms)
    for name, number in tally.most_common():
        known = savings.get(name, [])
        yield Rule(
            name,
            number,
            number / len(entries),
            usual=duration(median(known) * _NS_PER_MS) if known else "",
            total=duration(sum(known) * _NS_PER_MS) if known else "",
        )


def _nameless(error: str, recording: str) -> str:
    """Return an error without the recording's path, and without the name of its bundle."""
    name = recording.rpartition("/")[2]
    names = (recording, name) if name.endswith(".trace") else (recording,)
    for one in names:
        error = error.replace(one, "…")
    return error.removeprefix("…: ")


def _reasons(entries: Sequence[Entry]) -> Iterator[Reason]:
    """Yield why recordings failed, most often first; their own names make no difference."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.failed:
            error = _nameless(entry.error, entry.recording)
            groups.setdefault((error, entry.hint), []).append(entry.recording)
    often = sorted(groups.items(), key=lambda one: -len(one[1]))
    for (error, hint), names in often[:_MOST_REASONS]:
        yield Reason(error, hint, len(names), tuple(names[:_MOST_EXAMPLES]))
