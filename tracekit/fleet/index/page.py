"""The index as a page: a table of runs, readable without script."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tracekit.base.recording import Provenance
from tracekit.base.units import quantity
from tracekit.fleet.index.entry import Entry
from tracekit.fleet.index.spark import HEIGHT, WIDTH, Point, points, words
from tracekit.report.naming import flat
from tracekit.report.render import Redact, document, environment_of

_GPUTRACE = "gputrace"


@dataclass(frozen=True)
class Line:
    """A run as the template shows it."""

    entry: Entry
    name: str
    details: str
    machine: str
    findings: str
    value: str
    points: tuple[Point, ...]
    words: str
    links: tuple[tuple[str, str], ...]


def render_index(entries: Sequence[Entry], folder: str, *, redact: Redact) -> str:
    """Return the page over all runs of a folder; its links lead into the folders beside it.

    Args:
        entries: The runs, in the order in which they are shown.
        folder: What the folder is called.
        redact: Takes out of a string what must not be shown.
    """
    return document(
        environment_of(redact),
        "index/page.html",
        styles=("page.css", "index/index.css"),
        scripts=(),
        folder=folder,
        lines=[_line(entry) for entry in entries],
        tally=Counter(entry.verdict.tone for entry in entries),
        width=WIDTH,
        height=HEIGHT,
    )


def _line(entry: Entry) -> Line:
    run, followed = entry.run, entry.followed
    provenance = run.provenance or Provenance()
    value = quantity(followed.value, followed.unit) if followed else ""
    return Line(
        entry,
        name=_name(provenance) or run.folder,
        details=" · ".join(_parameters(provenance)),
        machine=" · ".join(_machine(provenance)),
        findings=_findings(entry),
        value=value,
        points=points(entry.series) if entry.series else (),
        words=words(entry.series, followed.unit) if followed and entry.series else "",
        links=tuple(
            (f"{quote(run.folder)}/{quote(file)}", text) for file, text in run.files.items()
        ),
    )


def _name(provenance: Provenance) -> str:
    targets = ", ".join(one.name for one in provenance.targets if one.name)
    return provenance.workload or targets or " ".join(provenance.command)


def _parameters(provenance: Provenance) -> Iterator[str]:
    set_ones = {name: value for name, value in provenance.parameters.items() if value is not None}
    yield from (f"{key} {value}" for key, value in flat(set_ones))


def _machine(provenance: Provenance) -> Iterator[str]:
    recorder = "GPU frame capture" if provenance.recorder == _GPUTRACE else provenance.recorder
    chip = provenance.machine.get("chip") or provenance.machine.get("processor")
    yield from (str(one) for one in (recorder, chip, *provenance.templates) if one)


def _findings(entry: Entry) -> str:
    if entry.run.result is None:
        return ""
    rules = dict.fromkeys(one.rule for one in entry.run.result.findings)
    return ", ".join(rules)
