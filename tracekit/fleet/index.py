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

    `folder` is its name, as links need it; `trouble` says why there is no result; `files` are the
    links that lead somewhere, file name to words.
    """

    folder: str
    provenance: Provenance
    result: Result | None
    trouble: str
    files: dict[str, str]


def entries_of(runs: Iterable[RunFolder]) -> list[dict[str, Any]]:
    """Return the lines of the index, the newest run first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series, each run with those before it.
    """
    every: dict[tuple[str, str], list[float]] = {}
    entries: list[dict[str, Any]] = []
    for run in sorted(runs, key=lambda run: (run.provenance.created, run.folder)):
        followed = _followed(run.result)
        series: list[float] = []
        if followed is not None and followed.value is not None:
            kind = every.setdefault((kind_of(run.provenance), followed.name), [])
            kind.append(float(followed.value))
            series = kind[-MOST_POINTS:]
        entries.append({**_facts(run), "followed": followed, "series": series})
    return entries[::-1]


def _facts(run: RunFolder) -> dict[str, Any]:
    """Return what a run says of itself: what was recorded and how, what to think of it, links."""
    provenance, folder = run.provenance, quote(run.folder)
    targets = ", ".join(target.name for target in provenance.targets if target.name)
    values = {name: value for name, value in provenance.parameters.items() if value is not None}
    recorder = "GPU frame capture" if provenance.recorder == _GPUTRACE else provenance.recorder
    machine = (recorder, _chip(provenance), *provenance.templates)
    found = run.result.findings if run.result else ()
    return {
        "folder": run.folder,
        "created": provenance.created,
        "name": provenance.workload or targets or " ".join(provenance.command) or run.folder,
        "details": " · ".join(f"{key} {value}" for key, value in flat(values)),
        "machine": " · ".join(str(fact) for fact in machine if fact),
        "verdict": verdict_of(run.result) if run.result else Verdict("unclear", run.trouble),
        "findings": ", ".join(dict.fromkeys(finding.rule for finding in found)),
        "links": [(f"{folder}/{quote(file)}", words) for file, words in run.files.items()],
    }


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


def render_index(entries: Sequence[dict[str, Any]], folder: str, *, redact: Redact) -> str:
    """Return the page over all runs of a folder; its links lead into the folders beside it."""
    return document(
        environment_of(redact),
        "index/page.html",
        styles=("page.css", "index/index.css"),
        scripts=(),
        folder=folder,
        entries=entries,
        points=points,
        words=words,
        tally=Counter(entry["verdict"].tone for entry in entries),
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
    provenance, trouble = Provenance(), ""
    try:
        provenance = recording.provenance()
        if recording.gputrace.exists():
            trouble = "A GPU frame capture: nothing was timed."
        elif recording.result_file.exists():
            result = load(recording.result_file)
            return RunFolder(name, result.provenance, result, "", files)
        else:
            stages = provenance.unfinished or provenance.stages
            far = ", ".join(f"{stage} {ended.state}" for stage, ended in stages.items())
            again = f"tracekit analyze {quoted(Path(name))}"
            trouble = f"Not analyzed yet ({far or 'nothing was done'}): {again}."
    except TracekitError as error:
        _log.info("A run cannot be read.", exc_info=True)
        trouble = error.message
    return RunFolder(name, provenance, None, trouble, files)


def _files(recording: Recording) -> dict[str, str]:
    known = (
        (recording.report_file, "report"),
        (recording.result_file, "result"),
        (recording.bundle, "trace"),
        (recording.gputrace, "capture"),
    )
    return {file.name: words for file, words in known if file.exists()}
