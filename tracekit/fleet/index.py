"""All runs of a folder on one page."""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tracekit.analysis import Measurement, Result, load
from tracekit.base import (
    Provenance,
    Recording,
    RecordingError,
    TracekitError,
    own_redaction,
    quantity,
    quoted,
    write_whole,
)
from tracekit.report import Redact, Verdict, document, environment_of, flat, verdict_of

MOST_POINTS = 30
# What a run is followed by over time: the first of these that it knows.
_FOLLOWED = ("tokens_per_second", "step_p50", "gpu_busy", "host_busy")


@dataclass(frozen=True)
class Unread:
    """A run's folder as it stands on the disk, before anything is said of it.

    Attributes:
        folder: Its name, as links need it.
        provenance: Where it comes from; None where that cannot be read.
        result: What the analysis says; None where there is none.
        trouble: Why there is no provenance or no result, in words.
        files: The links that lead somewhere: file name to words.
    """

    folder: str
    provenance: Provenance | None
    result: Result | None
    trouble: str
    files: dict[str, str]


@dataclass(frozen=True)
class Entry:
    """A run as the index shows it.

    Attributes:
        run: The run.
        verdict: What to think of it.
        followed: The number that its kind is followed by; None where it knows none.
        series: That number in the runs of its kind, oldest first, this run the last of them.
    """

    run: Unread
    verdict: Verdict
    followed: Measurement | None = None
    series: tuple[float, ...] = ()


def entries_of(runs: Iterable[Unread]) -> list[Entry]:
    """Return the lines of the index, the newest run first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series.
    """
    ordered = sorted(runs, key=_age)
    series: dict[tuple[str, str], list[float]] = {}
    entries: list[Entry] = []
    for run in ordered:
        followed = _followed(run.result)
        known: Sequence[float] = ()
        if followed is not None and followed.value is not None and run.provenance is not None:
            kind = series.setdefault((kind_of(run.provenance), followed.name), [])
            kind.append(float(followed.value))
            known = kind[-MOST_POINTS:]
        entries.append(Entry(run, _verdict(run), followed, tuple(known)))
    return entries[::-1]


def kind_of(provenance: Provenance) -> str:
    """Return what runs must have in common to be compared over time."""
    facts = {
        "recorder": provenance.recorder,
        "workload": provenance.workload,
        "parameters": provenance.parameters,
        "command": provenance.command,
        "templates": provenance.templates,
        "chip": provenance.machine.get("chip") or provenance.machine.get("processor"),
    }
    return json.dumps(facts, sort_keys=True, default=str)


def _age(run: Unread) -> tuple[str, str]:
    return (run.provenance.created if run.provenance else "", run.folder)


def _followed(result: Result | None) -> Measurement | None:
    if result is None:
        return None
    there = {one.name: one for one in result.metrics if one.value is not None}
    return next((there[name] for name in _FOLLOWED if name in there), None)


def _verdict(run: Unread) -> Verdict:
    if run.result is None:
        return Verdict("unclear", run.trouble)
    return verdict_of(run.result)


WIDTH, HEIGHT, MARGIN = 96.0, 22.0, 3.0
Point = tuple[float, float]


def points(series: Sequence[float]) -> tuple[Point, ...]:
    """Return where the values lie: evenly apart, the least at the bottom, the most on top.

    A series that never changes is drawn through the middle.
    """
    least, most = min(series), max(series)
    step = (WIDTH - 2 * MARGIN) / max(1, len(series) - 1)
    return tuple(
        (round(MARGIN + place * step, 1), round(_height(value, least, most), 1))
        for place, value in enumerate(series)
    )


def words(series: Sequence[float], unit: str) -> str:
    """Return what the line shows, for those who do not see it."""
    if len(series) == 1:
        return "the first run of its kind"
    least, most = quantity(min(series), unit), quantity(max(series), unit)
    return f"the last of {len(series)} runs of its kind, from {least} to {most}"


def _height(value: float, least: float, most: float) -> float:
    room = HEIGHT - 2 * MARGIN
    if most == least:
        return MARGIN + room / 2
    return MARGIN + room * (most - value) / (most - least)


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


INDEX = "index.html"
_log = logging.getLogger(__name__)


def write_index(folder: Path) -> Path:
    """Write the page about all runs of a folder into it.

    A run that cannot be read stands on the page with the reason.

    Raises:
        RecordingError: There is no such folder, or nothing can be written into it.
    """
    if not folder.is_dir():
        raise RecordingError(
            f"{folder} is no folder.", hint="Runs land in bench/traces unless --output says else."
        )
    page = folder / INDEX
    entries = entries_of(runs_in(folder))
    if not entries:
        _log.warning("There is no run in %s: a run is a folder with a recording.json.", folder)
    text = render_index(entries, folder.resolve().name, redact=own_redaction(()))
    write_whole(page, text.encode())
    return page


def runs_in(folder: Path) -> Iterator[Unread]:
    """Yield every run's folder right below a folder, in the order of their names."""
    for place in sorted(folder.iterdir()):
        recording = Recording(place)
        if recording.provenance_file.exists():
            yield _read(recording)


def _read(recording: Recording) -> Unread:
    name, files = recording.folder.name, _files(recording)
    try:
        provenance = recording.provenance()
    except TracekitError as error:
        return Unread(name, None, None, error.message, files)
    if recording.gputrace.exists():
        return Unread(name, provenance, None, "A GPU frame capture: nothing was timed.", files)
    result, trouble = _result(recording, provenance)
    return Unread(name, result.provenance if result else provenance, result, trouble, files)


def _result(recording: Recording, provenance: Provenance) -> tuple[Result | None, str]:
    if not recording.result_file.exists():
        stages = provenance.unfinished or provenance.stages
        far = ", ".join(f"{name} {stage.state}" for name, stage in stages.items())
        again = f"tracekit analyze {quoted(Path(recording.folder.name))}"
        return None, f"Not analyzed yet ({far or 'nothing was done'}): {again}."
    try:
        return load(recording.result_file), ""
    except TracekitError as error:
        _log.info("A result cannot be read.", exc_info=True)
        return None, error.message


def _files(recording: Recording) -> dict[str, str]:
    known = (
        (recording.report_file, "report"),
        (recording.result_file, "result"),
        (recording.bundle, "trace"),
        (recording.gputrace, "capture"),
    )
    return {file.name: words for file, words in known if file.exists()}
