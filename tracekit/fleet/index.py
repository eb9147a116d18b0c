"""All runs of a folder on one page."""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
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


_GPUTRACE = "gputrace"
WIDTH, HEIGHT, MARGIN = 96.0, 22.0, 3.0
Point = tuple[float, float]


@dataclass(frozen=True)
class RunFolder:
    """A run's folder as it stands on the disk, before it is judged.

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
class IndexEntry:
    """A run as the template shows it.

    Attributes:
        run: The run.
        verdict: What to think of it.
        followed: The number that its kind is followed by; None where it knows none.
        series: That number in the runs of its kind, oldest first, this run the last of them.
    """

    run: RunFolder
    verdict: Verdict
    followed: Measurement | None = None
    series: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """What was recorded; else the folder."""
        run = self._provenance
        targets = ", ".join(target.name for target in run.targets if target.name)
        return run.workload or targets or " ".join(run.command) or self.run.folder

    @property
    def details(self) -> str:
        """The parameters that were set."""
        given = self._provenance.parameters.items()
        values = {name: value for name, value in given if value is not None}
        return " · ".join(f"{key} {value}" for key, value in flat(values))

    @property
    def machine(self) -> str:
        """Recorder, chip and templates."""
        run = self._provenance
        recorder = "GPU frame capture" if run.recorder == _GPUTRACE else run.recorder
        facts = (recorder, _chip(run), *run.templates)
        return " · ".join(str(fact) for fact in facts if fact)

    @property
    def findings(self) -> str:
        """The rules that found something."""
        found = self.run.result.findings if self.run.result else ()
        return ", ".join(dict.fromkeys(finding.rule for finding in found))

    @property
    def value(self) -> str:
        """The number that is followed, in words; empty where there is none."""
        return quantity(self.followed.value, self.followed.unit) if self.followed else ""

    @property
    def points(self) -> tuple[Point, ...]:
        """The line through the series."""
        return points(self.series) if self.series else ()

    @property
    def words(self) -> str:
        """What the line shows."""
        return words(self.series, self.followed.unit) if self.followed and self.series else ""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Where the links lead, with their words."""
        folder = quote(self.run.folder)
        return tuple((f"{folder}/{quote(file)}", text) for file, text in self.run.files.items())

    @property
    def _provenance(self) -> Provenance:
        return self.run.provenance or Provenance()


def entries_of(runs: Iterable[RunFolder]) -> list[IndexEntry]:
    """Return the lines of the index, the newest run first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series.
    """
    series: dict[tuple[str, str], list[float]] = {}
    entries: list[IndexEntry] = []
    for run in sorted(runs, key=_age):
        followed = _followed(run.result)
        known: Sequence[float] = ()
        if followed is not None and followed.value is not None and run.provenance is not None:
            kind = series.setdefault((kind_of(run.provenance), followed.name), [])
            kind.append(float(followed.value))
            known = kind[-MOST_POINTS:]
        verdict = verdict_of(run.result) if run.result else Verdict("unclear", run.trouble)
        entries.append(IndexEntry(run, verdict, followed, tuple(known)))
    return entries[::-1]


def kind_of(provenance: Provenance) -> str:
    """Return what runs must have in common to be compared over time."""
    facts = {
        "recorder": provenance.recorder,
        "workload": provenance.workload,
        "parameters": provenance.parameters,
        "command": provenance.command,
        "templates": provenance.templates,
        "chip": _chip(provenance),
    }
    return json.dumps(facts, sort_keys=True, default=str)


def _chip(provenance: Provenance) -> Any:
    return provenance.machine.get("chip") or provenance.machine.get("processor")


def _age(run: RunFolder) -> tuple[str, str]:
    return (run.provenance.created if run.provenance else "", run.folder)


def _followed(result: Result | None) -> Measurement | None:
    metrics = result.metrics if result else ()
    there = {metric.name: metric for metric in metrics if metric.value is not None}
    return next((there[name] for name in _FOLLOWED if name in there), None)


def points(series: Sequence[float]) -> tuple[Point, ...]:
    """Return where the values lie: evenly apart, the least at the bottom, the most on top.

    A series that never changes is drawn through the middle.
    """
    least, most = min(series), max(series)
    step = (WIDTH - 2 * MARGIN) / max(1, len(series) - 1)
    room = HEIGHT - 2 * MARGIN
    heights = [(most - value) / (most - least) if most > least else 0.5 for value in series]
    return tuple(
        (round(MARGIN + place * step, 1), round(MARGIN + room * height, 1))
        for place, height in enumerate(heights)
    )


def words(series: Sequence[float], unit: str) -> str:
    """Return what the line shows, for those who do not see it."""
    if len(series) == 1:
        return "the first run of its kind"
    least, most = quantity(min(series), unit), quantity(max(series), unit)
    return f"the last of {len(series)} runs of its kind, from {least} to {most}"


def render_index(entries: Sequence[IndexEntry], folder: str, *, redact: Redact) -> str:
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
        entries=entries,
        tally=Counter(entry.verdict.tone for entry in entries),
        width=WIDTH,
        height=HEIGHT,
    )


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


def runs_in(folder: Path) -> Iterator[RunFolder]:
    """Yield every run's folder right below a folder, in the order of their names."""
    for place in sorted(folder.iterdir()):
        recording = Recording(place)
        if recording.provenance_file.exists():
            yield _read(recording)


def _read(recording: Recording) -> RunFolder:
    name, files = recording.folder.name, _files(recording)
    try:
        provenance = recording.provenance()
    except TracekitError as error:
        return RunFolder(name, None, None, error.message, files)
    if recording.gputrace.exists():
        return RunFolder(name, provenance, None, "A GPU frame capture: nothing was timed.", files)
    result, trouble = _result(recording, provenance)
    return RunFolder(name, result.provenance if result else provenance, result, trouble, files)


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
