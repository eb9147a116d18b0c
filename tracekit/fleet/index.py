"""All runs of a folder on one page."""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tracekit import lab
from tracekit.analysis import Better, Measurement, Result, load
from tracekit.base import (
    Provenance,
    Recording,
    RecordingError,
    TracekitError,
    duration,
    own_redaction,
    quantity,
    quote_path,
    stamp,
    write_whole,
)
from tracekit.report import (
    PageVerdict,
    document,
    environment_of,
    escape_markdown,
    flat,
    heading,
    markdown_table,
    verdict_of,
)

INDEX = "index.html"
MOST_POINTS = 30
WIDTH, HEIGHT, MARGIN = 96.0, 22.0, 3.0
# What a run is followed by over time: the first of these that it knows.
_FOLLOWED = ("tokens_per_second", "step_p50", "gpu_busy", "host_busy")
_GPUTRACE = "gputrace"
_log = logging.getLogger(__name__)


def write_index(folder: Path) -> Path:
    """Write the page about all runs of a folder into it; its links lead into their folders.

    A run that cannot be read stands on the page with the reason. A folder that is not there, has no
    run and no bench, or cannot be written into, is a RecordingError.
    """
    entries = entries_of(folder)
    text = document(
        environment_of(own_redaction(())),
        "index/page.html",
        styles=("page.css", "index/index.css"),
        scripts=(),
        folder=folder.resolve().name,
        entries=entries,
        points=points,
        words=words,
        tally=Counter(entry["verdict"].tone for entry in entries),
        width=WIDTH,
        height=HEIGHT,
    )
    write_whole(folder / INDEX, text.encode())
    return folder / INDEX


def entries_of(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each run and each bench right below a folder, the newest first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series, each run with those before it. A folder that is not
    there, or has neither, is a RecordingError.
    """
    if not folder.is_dir():
        raise RecordingError(
            f"{folder} is not a folder.",
            hint="Runs land in bench/traces unless --output names another folder.",
        )
    entries = [*_run_entries(folder), *_bench_entries(folder)]
    if not entries:
        raise RecordingError(
            f"There is no run in {folder}.",
            hint="Name a folder of runs: a run is a folder with a recording.json.",
        )
    return sorted(entries, key=lambda entry: entry["created"])[::-1]


def _run_entries(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each run, the oldest first."""
    runs = [run for run in map(Recording, sorted(folder.iterdir())) if run.provenance_file.exists()]
    read = [(run, *_read(run)) for run in runs]
    series_by_kind: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    entries: list[dict[str, Any]] = []
    for run, provenance, result, trouble in sorted(read, key=lambda reading: reading[1].created):
        metrics = result.metrics if result else ()
        known_metrics = {metric.name: metric for metric in metrics if metric.value is not None}
        followed = next((known_metrics[name] for name in _FOLLOWED if name in known_metrics), None)
        series: list[float] = []
        if followed is not None and followed.value is not None:
            of_kind = series_by_kind[kind_of(provenance), followed.name]
            of_kind.append(float(followed.value))
            series = of_kind[-MOST_POINTS:]
        findings = result.findings if result else ()
        entries.append(
            {
                **_origin(run, provenance),
                "verdict": verdict_of(result) if result else PageVerdict("unclear", trouble),
                "findings": ", ".join(dict.fromkeys(finding.rule for finding in findings)),
                "followed": followed,
                "series": series,
            }
        )
    return entries


def _bench_entries(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each JSON file of a bench."""
    files = [file for file in sorted(folder.glob("*.json")) if lab.document_kind(file) == lab.BENCH]
    return [_bench_entry(file) for file in files]


def _bench_entry(file: Path) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "created": "",
        "name": file.stem,
        "details": "",
        "machine": "bench",
        "links": [(quote(file.name), "samples")],
        "findings": "",
        "followed": None,
        "series": [],
    }
    try:
        bench = lab.read_bench(file)
    except TracekitError as error:
        return entry | {"verdict": PageVerdict("unclear", error.message)}
    shape = {name: value for name, value in asdict(bench.shape).items() if value is not None}
    calls = [row for row in bench.rows if row.micro is not None]
    chip = str(bench.environment.get("machine", {}).get("chip", ""))
    return entry | {
        "created": bench.started,
        "details": " · ".join(f"{key} {value}" for key, value in flat(shape)),
        "machine": " · ".join(filter(None, ("bench", chip))),
        "verdict": _bench_verdict(bench),
        "followed": _call_time(calls[0]) if calls else None,
        "series": [_call_time(calls[0]).value] if calls else [],
    }


def _call_time(row: "lab.BenchRow") -> Measurement:
    """Return the median time of a call of a subject that was measured."""
    took = row.micro.summary.median if row.micro is not None else None
    return Measurement(row.name, took, "ns", Better.LOWER)


def _bench_verdict(bench: "lab.Bench") -> PageVerdict:
    """Return what a bench measured: the median call of each subject."""
    calls = [
        f"{row.name} {duration(row.micro.summary.median)}"
        for row in bench.rows
        if row.micro is not None
    ]
    if bench.failures:
        return PageVerdict("error", f"Failed: {', '.join(bench.failures)}.", ", ".join(calls))
    if bench.interrupted:
        return PageVerdict("unclear", "Interrupted.", ", ".join(calls))
    return PageVerdict("good", "Measured.", ", ".join(calls))


MARKDOWN_COLUMNS = ("When", "What", "How", "Verdict", "Found", "Main metric")


def index_markdown(folder: Path) -> str:
    """Return all runs and benches of a folder as a table in Markdown, the newest first.

    It raises what `entries_of` raises.
    """
    rows = [_markdown_row(entry) for entry in entries_of(folder)]
    lines = [
        f"# Runs in {escape_markdown(folder.resolve().name)}",
        "",
        *markdown_table(MARKDOWN_COLUMNS, rows),
        "",
        "<!-- made by tracekit -->",
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    verdict, followed = entry["verdict"], entry["followed"]
    value = "not available"
    if followed is not None:
        value = f"{heading(followed.name)} {quantity(followed.value, followed.unit)}"
    return (
        stamp(entry["created"]) if entry["created"] else "not stated",
        entry["name"],
        " · ".join(filter(None, (entry["machine"], entry["details"]))),
        f"{verdict.lead} {verdict.message}".strip(),
        entry["findings"],
        value,
    )


def _read(run: Recording) -> tuple[Provenance, Result | None, str]:
    """Return what is known of a run; without a result, the reason."""
    provenance = Provenance()
    try:
        provenance = run.provenance()
        if run.gputrace.exists():
            return provenance, None, "A GPU frame capture: nothing was timed."
        if run.result_file.exists():
            result = load(run.result_file)
            return result.provenance, result, ""
    except TracekitError as error:
        _log.info("A run cannot be read.", exc_info=True)
        return provenance, None, error.message
    stages = provenance.unfinished_stages or provenance.stages
    far = ", ".join(f"{stage} {status.state}" for stage, status in stages.items())
    again = f"tracekit analyze {quote_path(Path(run.folder.name))}"
    return provenance, None, f"Not analyzed yet ({far or 'nothing was done'}): {again}."


def _origin(run: Recording, provenance: Provenance) -> dict[str, Any]:
    """Return what was recorded and how, and links to the files that are there."""
    folder = run.folder.name
    targets = ", ".join(target.name for target in provenance.targets if target.name)
    values = {name: value for name, value in provenance.parameters.items() if value is not None}
    recorder = "GPU frame capture" if provenance.recorder == _GPUTRACE else provenance.recorder
    machine = (recorder, _chip(provenance), *provenance.templates)
    files = (
        (run.report_file, "report"),
        (run.result_file, "result"),
        (run.bundle, "trace"),
        (run.gputrace, "capture"),
    )
    return {
        "folder": folder,
        "created": provenance.created,
        "name": provenance.workload or targets or " ".join(provenance.command) or folder,
        "details": " · ".join(f"{key} {value}" for key, value in flat(values)),
        "machine": " · ".join(str(fact) for fact in machine if fact),
        "links": [
            (f"{quote(folder)}/{quote(file.name)}", words) for file, words in files if file.exists()
        ],
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


def points(series: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return where the values lie: evenly apart, the least at the bottom, the most on top.

    A series that never changes is drawn through the middle.
    """
    minimum, maximum = min(series), max(series)
    step = (WIDTH - 2 * MARGIN) / max(1, len(series) - 1)
    room = HEIGHT - 2 * MARGIN
    heights = [
        (maximum - value) / (maximum - minimum) if maximum > minimum else 0.5 for value in series
    ]
    return tuple(
        (round(MARGIN + place * step, 1), round(MARGIN + room * height, 1))
        for place, height in enumerate(heights)
    )


def words(series: Sequence[float], unit: str) -> str:
    """Return what the line shows, for those who do not see it."""
    if len(series) == 1:
        return "the first run of its kind"
    minimum, maximum = quantity(min(series), unit), quantity(max(series), unit)
    return f"the last of {len(series)} runs of its kind, from {minimum} to {maximum}"
