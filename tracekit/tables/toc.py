"""What a trace holds, as its table of contents says: runs, devices, tables, settings."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import (
    InputError,
    Process,
    Recording,
    UsageError,
    declares_document_type,
    hostile,
    open_input,
    unreadable,
)

# Apple's own spelling, and the one that it means.
NAMES = ("intruments-recording-settings", "instruments-recording-settings")


def settings(run: Element) -> dict[str, tuple[str, ...]]:
    """Return one "Key: value" line for each setting, by instrument."""
    setting_lines: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for instrument in run.iterfind(f"info/summary/{name}/instrument"):
            key = instrument.get("name", "")
            setting_lines[key] = setting_lines.get(key, ()) + tuple(_lines(instrument))
    return setting_lines


def _lines(instrument: Element) -> Iterator[str]:
    for setting in instrument.iter("key", "option"):
        if setting.tag == "option":
            yield f"{setting.get('key', '')}: {setting.get('value', setting.text or '')}"
            continue
        name = setting.get("name", "")
        text = (setting.text or "").strip()
        if text:
            yield f"{name}: {text}"
        for value in setting.iterfind("value"):
            yield setting_line(name, (value.text or "").strip())


def setting_line(name: str, words: str) -> str:
    """Return a setting as a line; one of several values may name itself."""
    if ": " in words:
        return words
    return f"{name}: {words}"


@dataclass(frozen=True)
class TocTable:
    """A table of a run: its place (1, 2 …, as in an export's xpath), schema and attributes."""

    index: int
    schema: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class TocRun:
    """One run of a bundle.

    `target` is None for a recording of all processes. `target_type` is "launched" or
    "attached". `duration` is in seconds. `settings` holds one "Key: value" line for each
    setting of each instrument, as Instruments words them. `environment` holds the names of
    variables; their values may be secrets and are not read. `arguments` and `paths` (of
    processes, by pid) are private.
    """

    number: int
    device: dict[str, str] = field(default_factory=dict[str, str])
    target: Process | None = None
    target_type: str = ""
    arguments: str = field(default="", repr=False)
    exit_status: str = ""
    termination_reason: str = ""
    all_processes: bool = False
    environment: tuple[str, ...] = ()
    start_date: str = ""
    end_date: str = ""
    duration: float | None = None
    end_reason: str = ""
    instruments_version: str = ""
    template: str = ""
    recording_mode: str = ""
    time_limit: str = ""
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    processes: tuple[Process, ...] = ()
    paths: dict[int, str] = field(default_factory=dict[int, str], repr=False)
    tables: tuple[TocTable, ...] = ()


@dataclass(frozen=True)
class Toc:
    """What a bundle holds."""

    runs: tuple[TocRun, ...]


# The texts of a run, and where the table of contents has them; an attribute behind an @.
TEXTS = {
    "target_type": "info/target/process/@type",
    "arguments": "info/target/process/@arguments",
    "exit_status": "info/target/process/@return-exit-status",
    "termination_reason": "info/target/process/@termination-reason",
    "start_date": "info/summary/start-date",
    "end_date": "info/summary/end-date",
    "end_reason": "info/summary/end-reason",
    "instruments_version": "info/summary/instruments-version",
    "template": "info/summary/template-name",
    "recording_mode": "info/summary/recording-mode",
    "time_limit": "info/summary/time-limit",
}


@dataclass(frozen=True)
class WantedTable:
    """One table to export: `place` chooses among tables of one schema, None if it is alone.

    `index` is its number in the TOC, as in the xpath of its export.
    """

    schema: str
    place: int | None
    file: str
    index: int = field(default=0, compare=False)


def select_tables(run: TocRun, schemas: Iterable[str]) -> tuple[WantedTable, ...]:
    """Return the tables of `run` that have one of `schemas`, in the order of its TOC."""
    schemas = frozenset(schemas)
    listed = [table for table in run.tables if table.schema in schemas]
    counts = Counter(table.schema for table in listed)
    seen_counts = Counter[str]()
    tables: list[WantedTable] = []
    for table in listed:
        schema = table.schema
        seen_counts[schema] += 1
        place = seen_counts[schema]
        file = f"{schema}.xml" if place == 1 else f"{schema}-{place}.xml"
        tables.append(
            WantedTable(schema, None if counts[schema] == 1 else place, file, table.index)
        )
    return tuple(tables)


_LARGEST = 1 << 26
_ROOT = "trace-toc"
_DEVICES = ("info/target/device", "info/target/host-device")
_PLAIN_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


def read_toc(path: Path) -> Toc:
    """Read a TOC as `xctrace export --toc` writes it; raise InputError if it is none."""
    root = _parse(path)
    if root.tag != _ROOT:
        raise InputError(
            f"{path} is not the table of contents of a trace: its root is <{root.tag}>.",
            hint="`xcrun xctrace export --input RECORDING.trace --toc` writes one.",
        )
    runs = enumerate(root.iterfind("run"), start=1)
    return Toc(tuple(_run(path, run, place) for place, run in runs))


def _parse(path: Path) -> Element:
    with open_input(path) as file:
        try:
            content = file.read(_LARGEST + 1)
        except OSError as error:
            raise unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise InputError(f"{path} is larger than any table of contents; it was not read.")
    if declares_document_type(content):
        raise hostile(path)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{path} is not a whole table of contents: {error.msg}.", hint="Export it again."
        ) from error
    if root.getroottree().docinfo.internalDTD:
        raise hostile(path)
    return root


def _run(path: Path, run: Element, place: int) -> TocRun:
    process = run.find("info/target/process")
    listed = [
        (_process(path, node), node.get("path")) for node in run.iterfind("processes/process")
    ]
    devices = [device for device in map(run.find, _DEVICES) if device is not None]
    return TocRun(
        number=_integer(path, run.get("number", str(place))),
        device=_attributes(devices[0]) if devices else {},
        target=None if process is None or not process.get("pid") else _process(path, process),
        all_processes=run.find("info/target/all-processes") is not None,
        duration=_seconds(path, _text(run, "info/summary/duration")),
        environment=tuple(item.get("key", "") for item in run.iterfind("info//environment/item")),
        settings=settings(run),
        processes=tuple(process for process, _ in listed),
        paths={
            process.pid: process_path
            for process, process_path in listed
            if process_path is not None
        },
        tables=tuple(
            _table(path, *pair) for pair in enumerate(run.iterfind("data/table"), start=1)
        ),
        **{name: _text(run, place) for name, place in TEXTS.items()},
    )


def _text(run: Element, place: str) -> str:
    path, _, attribute = place.partition("/@")
    element = run.find(path)
    if element is None:
        return ""
    if attribute:
        return element.get(attribute, "")
    return (element.text or "").strip()


def _attributes(element: Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.items()}


def _process(path: Path, process: Element) -> Process:
    return Process(_integer(path, process.get("pid", "")), process.get("name", ""))


def _table(path: Path, index: int, table: Element) -> TocTable:
    attributes = _attributes(table)
    schema = attributes.pop("schema", "")
    if not schema:
        raise InputError(f"{path}: table {index} has no schema.")
    return TocTable(index, schema, attributes)


def _integer(path: Path, text: str) -> int:
    if _PLAIN_INTEGER.fullmatch(text) is None:
        raise InputError(f"{path} has {text!r} where a whole number belongs.")
    return int(text)


def _seconds(path: Path, text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{path} has {text!r} where seconds belong.") from None


_MOST = 20


def find_run(runs: Sequence[TocRun], number: int | None, name: str) -> TocRun:
    """Return the run of that number, the last one without; raise UsageError if there is none."""
    chosen_run = runs[-1] if number is None else next((r for r in runs if r.number == number), None)
    if chosen_run is None:
        raise UsageError(f"{name} has no run {number}.", hint=f"It has {describe_runs(runs)}.")
    return chosen_run


def explain_run_choice(runs: Sequence[TocRun], run: TocRun, name: str) -> tuple[str, ...]:
    """Say which run is read if none was named, and which there are; nothing if there is but one."""
    if len(runs) < 2:  # noqa: PLR2004  several
        return ()
    reason = "the last one" if run.number == runs[-1].number else "the last one with tables"
    there = f"{name} has {len(runs)} runs: {describe_runs(runs)}."
    return (f"{there} Run {run.number}, {reason}, is read; --run chooses another.",)


def find_recorded_run(recording: Recording) -> TocRun | None:
    """Return the run that a recording is about, the last one where it does not say; or none."""
    runs = read_toc(recording.toc_file).runs
    run_number = recording.provenance().run if recording.provenance_file.exists() else None
    return next((run for run in runs if run.number == run_number), runs[-1] if runs else None)


def describe_runs(runs: Sequence[TocRun]) -> str:
    """Name runs by number, with their targets and times."""
    more = [f"and {len(runs) - _MOST:,} more"] if len(runs) > _MOST else []
    return "; ".join([*(_describe_run(run) for run in islice(runs, _MOST)), *more])


def _describe_run(run: TocRun) -> str:
    target = f"{run.target.name} {run.target.pid}".strip() if run.target is not None else ""
    seconds = "" if run.duration is None else f"{run.duration:.3f} s"
    facts = [fact for fact in (target, run.start_date, seconds) if fact]
    if facts:
        return f"run {run.number} ({', '.join(facts)})"
    return f"run {run.number}"


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_NAME = re.compile(r"^(?![A-Za-z_])|[^A-Za-z0-9_.-]", re.ASCII)


def toc_text(toc: Toc) -> str:
    """Return a table of contents as text."""
    root = etree.Element("trace-toc")
    for run in toc.runs:
        element = _add_element(root, "run", number=str(run.number))
        info = _add_element(element, "info")
        _target(_add_element(info, "target"), run)
        _summary(_add_element(info, "summary"), run)
        processes = _add_element(element, "processes")
        for process in run.processes:
            path = {"path": run.paths[process.pid]} if process.pid in run.paths else {}
            _add_element(processes, "process", name=process.name, pid=str(process.pid), **path)
        data = _add_element(element, "data")
        for table in sorted(run.tables, key=lambda entry: entry.index):
            _add_element(data, "table", **(table.attributes | {"schema": table.schema}))
        _add_element(element, "tracks")
    etree.indent(root, space="    ")
    return f'<?xml version="1.0"?>\n\n{etree.tostring(root, encoding="unicode")}\n'


def _target(target: Element, run: TocRun) -> None:
    if run.device:
        _add_element(target, "device", **run.device)
    process_attributes = {
        place.partition("/@")[2]: text
        for name, place in TEXTS.items()
        if "@" in place and (text := getattr(run, name))
    }
    if run.target is not None:
        process_attributes |= {"name": run.target.name, "pid": str(run.target.pid)}
    if process_attributes:
        _add_element(target, "process", **process_attributes)
    if run.all_processes:
        _add_element(target, "all-processes")
    if run.environment:
        environment = _add_element(target, "environment")
        for name in run.environment:
            _add_element(environment, "item", key=name)


def _summary(summary: Element, run: TocRun) -> None:
    for name, place in TEXTS.items():
        if "@" not in place and (text := getattr(run, name)):
            _add_element(summary, place.rpartition("/")[2]).text = _clean_text(text)
        if name == "end_date" and run.duration is not None:
            _add_element(summary, "duration").text = _duration(run.duration)
    if run.settings:
        instruments = _add_element(summary, NAMES[0])
        for name, lines in run.settings.items():
            instrument = _add_element(instruments, "instrument", name=name)
            dictionary = _add_element(_add_element(instrument, "array"), "dictionary")
            for key, _, words in (line.partition(": ") for line in lines):
                _add_element(dictionary, "key", name=key).text = _clean_text(words)


def _duration(duration: float) -> str:
    text = f"{duration:.6f}"
    if float(text) == duration:
        return text
    return repr(duration)


def _add_element(parent: Element, tag: str, /, **attributes: str) -> Element:
    clean_attributes = {
        _NOT_NAME.sub("_", name): _clean_text(text) for name, text in attributes.items()
    }
    return etree.SubElement(parent, tag, clean_attributes)


def _clean_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
