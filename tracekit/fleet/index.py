"""All runs of a folder on one page."""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tracekit import lab, pipeline
from tracekit.analysis import Better, Measurement, Result
from tracekit.base import (
    Provenance,
    Recording,
    RecordingError,
    TracekitError,
    documents,
    files,
    redaction,
    units,
)
from tracekit.pages import (
    PageVerdict,
    document,
    environment_of,
    escape_markdown,
    markdown_table,
    text,
    verdict_of,
)

INDEX = "index.html"
MOST_POINTS = 30
WIDTH = 96.0
HEIGHT = 22.0
MARGIN = 3.0
# The metric that is drawn over time: the first of these that a run has.
_FOLLOWED = ("tokens_per_second", "step_p50", "gpu_busy", "host_busy")
_GPUTRACE = "gputrace"
_log = logging.getLogger(__name__)


def write_index(folder: Path) -> Path:
    """Write the page about all runs of a folder into it; its links lead into their folders.

    The page shows a run that cannot be read with the reason.

    Raises:
        RecordingError: The folder does not exist, has no run and no bench, or is not writable.
    """
    entries = entries_of(folder)
    tally = Counter(entry["verdict"].tone for entry in entries)
    html = document(
        environment_of(redaction.own_redaction(())),
        "index/page.html",
        styles=("page.css", "index/index.css"),
        scripts=(),
        folder=folder.resolve().name,
        entries=entries,
        points=points,
        words=words,
        tally=tally,
        width=WIDTH,
        height=HEIGHT,
    )
    files.write_whole(folder / INDEX, html.encode())
    return folder / INDEX


def entries_of(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each run and each bench directly in a folder, the newest first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series, each run with those before it.

    Raises:
        RecordingError: The folder does not exist, or has neither.
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
    oldest_first = sorted(entries, key=lambda entry: entry["created"])
    return oldest_first[::-1]


def _run_entries(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each run, the oldest first."""
    readings: list[tuple[Recording, Provenance, Result | None, str]] = []
    for path in sorted(folder.iterdir()):
        run = Recording(path)
        if run.provenance_file.exists():
            readings.append((run, *_read(run)))
    readings.sort(key=lambda reading: reading[1].created)
    series_by_kind: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    entries: list[dict[str, Any]] = []
    for run, provenance, result, trouble in readings:
        entry = _origin(run, provenance)
        entry["verdict"] = PageVerdict("unclear", trouble)
        entry["findings"] = ""
        entry["followed"] = None
        entry["series"] = []
        if result is not None:
            entry["verdict"] = verdict_of(result)
            entry["findings"] = _list_rules(result)
            entry["followed"] = followed = _followed_metric(result)
            if followed is not None and followed.value is not None:
                series = series_by_kind[kind_of(provenance), followed.name]
                series.append(float(followed.value))
                entry["series"] = series[-MOST_POINTS:]
        entries.append(entry)
    return entries


def _followed_metric(result: Result) -> Measurement | None:
    """Return the metric that is drawn for a run over time, if it has one."""
    for name in _FOLLOWED:
        metric = result.find_metric(name)
        if metric is not None and metric.value is not None:
            return metric
    return None


def _list_rules(result: Result) -> str:
    """Return the rules that found something, each once, in the order of the findings."""
    finding_rules = [finding.rule for finding in result.findings]
    rules = dict.fromkeys(finding_rules)
    return ", ".join(rules)


def _bench_entries(folder: Path) -> list[dict[str, Any]]:
    """Return a line for each JSON file of `bench run`, and each server of `bench runtimes`."""
    entries: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.json")):
        kind = lab.document.document_kind(file)
        if kind == lab.document.BENCH:
            entries.append(_bench_entry(file))
        elif kind == lab.endpoint.runtimes.KIND:
            entries += _runtime_entries(file)
    return entries


def _make_entry(file: Path, kind: str) -> dict[str, Any]:
    return {
        "created": "",
        "name": file.stem,
        "details": "",
        "machine": kind,
        "links": [(quote(file.name), "samples")],
        "findings": "",
        "followed": None,
        "series": [],
    }


def _runtime_entries(file: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each server: model and quantization, its rates, loading and memory."""
    try:
        content = files.read_input(file)
        compared = documents.decode_json(content, lab.endpoint.runtimes.ComparedRuntimes)
    except msgspec.MsgspecError as error:
        yield {**_make_entry(file, "runtimes"), "verdict": PageVerdict("unclear", f"{error}.")}
        return
    chip = compared.machine.get("chip") or compared.machine.get("processor") or ""
    for row in compared.rows:
        entry = _make_entry(file, f"{row.name} · {chip}".rstrip(" ·"))
        entry["created"] = compared.date
        entry["details"] = row.model
        if row.estimate is not None:
            model = row.estimate.model
            entry["details"] = f"{model.name} · {model.quantization or 'not quantized'}"
        entry["verdict"] = _runtime_verdict(row)
        decode = row.figure("decode")
        if decode is not None:
            rate = Measurement("decode", decode.median, "tokens/s", Better.HIGHER)
            entry["followed"] = rate
            entry["series"] = [rate.value]
        yield entry


def _runtime_verdict(row: "lab.endpoint.runtimes.RuntimeRow") -> PageVerdict:
    """Return the verdict on a server, with its other figures."""
    figures: list[str] = []
    for name, words, unit in _RUNTIME_FIGURES:
        figure = row.figure(name)
        if figure is not None:
            figures.append(f"{words} {units.quantity(figure.median, unit)}")
    if row.reason:
        return PageVerdict("error", "Failed:", f"{row.reason}.")
    return PageVerdict("good", "Measured.", ", ".join(figures))


_RUNTIME_FIGURES = (
    ("prefill", "prefill", "tokens/s"),
    ("load", "load", "ns"),
    ("peak_memory", "memory", "bytes"),
)


def _bench_entry(file: Path) -> dict[str, Any]:
    entry = _make_entry(file, "bench")
    try:
        bench = lab.document.read_bench(file)
    except TracekitError as error:
        entry["verdict"] = PageVerdict("unclear", error.message)
        return entry
    entry["created"] = bench.started
    entry["details"] = _describe_values(asdict(bench.shape))
    machine = bench.environment.get("machine", {})
    chip = str(machine.get("chip", ""))
    if chip:
        entry["machine"] = f"bench · {chip}"
    entry["verdict"] = _bench_verdict(bench)
    calls = [row for row in bench.rows if row.micro is not None]
    if calls:
        call_time = _call_time(calls[0])
        entry["followed"] = call_time
        entry["series"] = [call_time.value]
    return entry


def _describe_values(values: Mapping[str, Any]) -> str:
    """Return values with their names on one line; those that are None are left out."""
    stated_values = {name: value for name, value in values.items() if value is not None}
    return " · ".join(f"{name} {value}" for name, value in text.flat(stated_values))


def _call_time(row: "lab.document.BenchRow") -> Measurement:
    """Return the median time of a call of a subject, in ns; None if it was not measured."""
    call_time = None
    if row.micro is not None:
        call_time = row.micro.summary.median
    return Measurement(row.name, call_time, "ns", Better.LOWER)


def _bench_verdict(bench: "lab.document.Bench") -> PageVerdict:
    """Return the verdict of a bench, with the median call of each subject."""
    calls: list[str] = []
    for row in bench.rows:
        if row.micro is not None:
            call_time = units.duration(row.micro.summary.median)
            calls.append(f"{row.name} {call_time}")
    message = ", ".join(calls)
    if bench.failures:
        return PageVerdict("error", f"Failed: {', '.join(bench.failures)}.", message)
    if bench.interrupted:
        return PageVerdict("unclear", "Interrupted.", message)
    return PageVerdict("good", "Measured.", message)


MARKDOWN_COLUMNS = ("When", "What", "How", "Verdict", "Found", "Main metric")


def index_markdown(folder: Path) -> str:
    """Return all runs and benches of a folder as a table in Markdown, the newest first.

    Raises:
        RecordingError: As `entries_of`.
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
    created = "not stated"
    if entry["created"]:
        created = units.stamp(entry["created"])
    verdict = entry["verdict"]
    followed = entry["followed"]
    value = "not available"
    if followed is not None:
        followed_value = units.quantity(followed.value, followed.unit)
        value = f"{text.heading(followed.name)} {followed_value}"
    circumstances = filter(None, (entry["machine"], entry["details"]))
    circumstances_words = " · ".join(circumstances)
    verdict_words = f"{verdict.lead} {verdict.message}".strip()
    return (
        created,
        entry["name"],
        circumstances_words,
        verdict_words,
        entry["findings"],
        value,
    )


def _read(run: Recording) -> tuple[Provenance, Result | None, str]:
    """Return the provenance of a run and its result; without a result, the reason."""
    provenance = Provenance()
    try:
        provenance = run.provenance()
        if run.gputrace.exists():
            return provenance, None, "A GPU frame capture: nothing was timed."
        if run.result_file.exists():
            result = pipeline.load_result(run)
            return result.provenance, result, ""
    except TracekitError as error:
        _log.info("A run cannot be read.", exc_info=True)
        return provenance, None, error.message
    stages = provenance.unfinished_stages or provenance.stages
    stage_states = [f"{stage} {status.state}" for stage, status in stages.items()]
    states = ", ".join(stage_states)
    command = f"tracekit analyze {files.quote_path(Path(run.folder.name))}"
    return provenance, None, f"Not analyzed yet ({states or 'nothing was done'}): {command}."


def _origin(run: Recording, provenance: Provenance) -> dict[str, Any]:
    """Return the subject of a run and its circumstances, and links to the files that exist."""
    folder = run.folder.name
    targets = ", ".join(target.name for target in provenance.targets if target.name)
    recorder = provenance.recorder
    if recorder == _GPUTRACE:
        recorder = "GPU frame capture"
    machine = (recorder, _chip(provenance), *provenance.templates)
    machine_words = " · ".join(str(fact) for fact in machine if fact)
    name = provenance.workload or targets or " ".join(provenance.command) or folder
    details = _describe_values(provenance.parameters)
    return {
        "folder": folder,
        "created": provenance.created,
        "name": name,
        "details": details,
        "machine": machine_words,
        "links": _links(run),
    }


def _links(run: Recording) -> list[tuple[str, str]]:
    """Return the address and the name of each file of a run that exists."""
    linked_files = (
        (run.report_file, "report"),
        (run.result_file, "result"),
        (run.bundle, "trace"),
        (run.gputrace, "capture"),
    )
    links: list[tuple[str, str]] = []
    for file, name in linked_files:
        if file.exists():
            quoted_file = quote(file.name)
            address = f"{quote(run.folder.name)}/{quoted_file}"
            links.append((address, name))
    return links


def kind_of(provenance: Provenance) -> str:
    """Return a text that is equal for the runs that are compared over time."""
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
    """Return the place of each value, evenly apart: the minimum at the bottom, the maximum on top.

    A series that never changes is drawn through the middle.
    """
    maximum = max(series)
    difference = maximum - min(series)
    gap_count = max(1, len(series) - 1)
    step = (WIDTH - 2 * MARGIN) / gap_count
    room = HEIGHT - 2 * MARGIN
    places: list[tuple[float, float]] = []
    for number, value in enumerate(series):
        height = 0.5
        if difference > 0:
            height = (maximum - value) / difference
        across = round(MARGIN + number * step, 1)
        down = round(MARGIN + room * height, 1)
        places.append((across, down))
    return tuple(places)


def words(series: Sequence[float], unit: str) -> str:
    """Return a description of the line, for readers who cannot see it."""
    if len(series) == 1:
        return "the first run of its kind"
    minimum = units.quantity(min(series), unit)
    maximum = units.quantity(max(series), unit)
    return f"the last of {len(series)} runs of its kind, from {minimum} to {maximum}"
