"""The table of contents of a trace: runs, devices, tables, settings."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import InputError, Process, Recording, UsageError, files

# Apple's spelling, and the correct one.
NAMES = ("intruments-recording-settings", "instruments-recording-settings")


def settings(run: Element) -> dict[str, tuple[str, ...]]:
    """Return one "Key: value" line for each setting, by instrument."""
    setting_lines: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for instrument in run.iterfind(f"info/summary/{name}/instrument"):
            key = instrument.get("name", "")
            earlier_lines = setting_lines.get(key, ())
            setting_lines[key] = (*earlier_lines, *_lines(instrument))
    return setting_lines


def _lines(instrument: Element) -> Iterator[str]:
    for setting in instrument.iter("key", "option"):
        if setting.tag == "option":
            yield f"{setting.get('key', '')}: {setting.get('value', setting.text or '')}"
            continue
        name = setting.get("name", "")
        text = (setting.text or "").strip()
        values = setting.findall("value")
        if text or not values:
            yield f"{name}: {text}"
        for value in values:
            yield setting_line(name, (value.text or "").strip())


def setting_line(name: str, words: str) -> str:
    """Return a setting as a line; one of several values may have a name of its own."""
    if ": " in words:
        return words
    return f"{name}: {words}"


@dataclass(frozen=True)
class TocTable:
    """A table of a run: its place (1, 2 …, as in the xpath of an export), schema, attributes."""

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
    """The runs of a bundle."""

    runs: tuple[TocRun, ...]


# The texts of a run, and their places in the table of contents; an attribute follows an @.
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
        file = f"{schema}.xml"
        if place > 1:
            file = f"{schema}-{place}.xml"
        is_alone = counts[schema] == 1
        tables.append(WantedTable(schema, None if is_alone else place, file, table.index))
    return tuple(tables)


_LARGEST = 1 << 26
_ROOT = "trace-toc"
_DEVICES = ("info/target/device", "info/target/host-device")
_PLAIN_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def read_toc(path: Path) -> Toc:
    """Read a TOC as `xctrace export --toc` writes it; raise InputError if it is not one."""
    with files.open_input(path) as file:
        try:
            content = file.read(_LARGEST + 1)
        except OSError as error:
            raise files.unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise InputError(f"{path} is larger than any table of contents; it was not read.")
    return _make_toc(path, content)


@lru_cache(maxsize=1)  # the parts of an analysis ask for one after the other
def _make_toc(path: Path, content: bytes) -> Toc:
    root = _parse(path, content)
    if root.tag != _ROOT:
        raise InputError(
            f"{path} is not the table of contents of a trace: its root is <{root.tag}>.",
            hint="`xcrun xctrace export --input RECORDING.trace --toc` writes one.",
        )
    run_nodes = enumerate(root.iterfind("run"), start=1)
    runs = [_run(path, run, place) for place, run in run_nodes]
    return Toc(tuple(runs))


def _parse(path: Path, content: bytes) -> Element:
    if files.declares_document_type(content):
        raise files.hostile(path)
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
        raise files.hostile(path)
    return root


def _run(path: Path, run: Element, place: int) -> TocRun:
    processes: list[Process] = []
    process_paths: dict[int, str] = {}
    for node in run.iterfind("processes/process"):
        process = _process(path, node)
        processes.append(process)
        process_path = node.get("path")
        if process_path is not None:
            process_paths[process.pid] = process_path
    number_text = run.get("number", str(place))
    number = _integer(path, number_text)
    target: Process | None = None
    target_node = run.find("info/target/process")
    if target_node is not None and target_node.get("pid"):
        target = _process(path, target_node)
    duration = _seconds(path, _text(run, "info/summary/duration"))
    variable_nodes = run.iterfind("info//environment/item")
    variables = [item.get("key", "") for item in variable_nodes]
    table_nodes = enumerate(run.iterfind("data/table"), start=1)
    tables = [_table(path, index, table) for index, table in table_nodes]
    texts = {name: _text(run, place) for name, place in TEXTS.items()}
    device = _device(run)
    all_processes = run.find("info/target/all-processes") is not None
    return TocRun(
        number=number,
        device=device,
        target=target,
        all_processes=all_processes,
        duration=duration,
        environment=tuple(variables),
        settings=settings(run),
        processes=tuple(processes),
        paths=process_paths,
        tables=tuple(tables),
        **texts,
    )


def _device(run: Element) -> dict[str, str]:
    """Return the attributes of the device of a run, or else of its host."""
    for place in _DEVICES:
        device = run.find(place)
        if device is not None:
            return _attributes(device)
    return {}


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
    pid = _integer(path, process.get("pid", ""))
    return Process(pid, process.get("name", ""))


def _table(path: Path, index: int, table: Element) -> TocTable:
    attributes = _attributes(table)
    schema = attributes.pop("schema", "")
    if not schema:
        raise InputError(f"{path}: table {index} has no schema.")
    return TocTable(index, schema, attributes)


def _integer(path: Path, text: str) -> int:
    if _PLAIN_INTEGER.fullmatch(text) is None:
        raise InputError(f"{path} has {text!r} instead of a whole number.")
    return int(text)


def _seconds(path: Path, text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(f"{path} has {text!r} where seconds belong.")
    return seconds


_MOST = 20


def find_run(runs: Sequence[TocRun], number: int | None, name: str) -> TocRun:
    """Return the run of that number, or the last one without; raise UsageError if it is absent."""
    if number is None:
        return runs[-1]
    for run in runs:
        if run.number == number:
            return run
    raise UsageError(f"{name} has no run {number}.", hint=f"It has {describe_runs(runs)}.")


def explain_run_choice(runs: Sequence[TocRun], run: TocRun, name: str) -> tuple[str, ...]:
    """Return a remark on the run that is read if none was named, unless there is only one."""
    if len(runs) < 2:  # noqa: PLR2004  several
        return ()
    is_last = run.number == runs[-1].number
    reason = "the last one" if is_last else "the last one with tables"
    there = f"{name} has {len(runs)} runs: {describe_runs(runs)}."
    return (f"{there} Run {run.number}, {reason}, is read; --run chooses another.",)


def find_recorded_run(recording: Recording) -> TocRun | None:
    """Return the run of a recording, or the last one if it names none that is there; or None."""
    runs = read_toc(recording.toc_file).runs
    run_number: int | None = None
    if recording.provenance_file.exists():
        run_number = recording.provenance().run
    for run in runs:
        if run.number == run_number:
            return run
    return runs[-1] if runs else None


def describe_runs(runs: Sequence[TocRun]) -> str:
    """Return the numbers of runs, with their targets and times."""
    descriptions = [_describe_run(run) for run in runs[:_MOST]]
    if len(runs) > _MOST:
        unlisted_count = len(runs) - _MOST
        descriptions.append(f"and {unlisted_count:,} more")
    return "; ".join(descriptions)


def _describe_run(run: TocRun) -> str:
    facts: list[str] = []
    if run.target is not None:
        process_words = f"{run.target.name} {run.target.pid}"
        facts.append(process_words.strip())
    if run.start_date:
        facts.append(run.start_date)
    if run.duration is not None:
        facts.append(f"{run.duration:.3f} s")
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
            attributes = {"name": process.name, "pid": str(process.pid)}
            if process.pid in run.paths:
                attributes["path"] = run.paths[process.pid]
            _add_element(processes, "process", **attributes)
        data = _add_element(element, "data")
        for table in sorted(run.tables, key=lambda entry: entry.index):
            attributes = {**table.attributes, "schema": table.schema}
            _add_element(data, "table", **attributes)
        _add_element(element, "tracks")
    etree.indent(root, space="    ")
    return f'<?xml version="1.0"?>\n\n{etree.tostring(root, encoding="unicode")}\n'


def _target(target: Element, run: TocRun) -> None:
    if run.device:
        _add_element(target, "device", **run.device)
    process_attributes: dict[str, str] = {}
    for name, place in TEXTS.items():
        _, _, attribute = place.partition("/@")
        text = getattr(run, name)
        if attribute and text:
            process_attributes[attribute] = text
    if run.target is not None:
        process_attributes["name"] = run.target.name
        process_attributes["pid"] = str(run.target.pid)
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
        text = getattr(run, name)
        if "@" not in place and text:
            _, _, tag = place.rpartition("/")
            _add_element(summary, tag).text = _clean_text(text)
        if name == "end_date" and run.duration is not None:
            _add_element(summary, "duration").text = _duration(run.duration)
    if run.settings:
        instruments = _add_element(summary, NAMES[0])
        for name, lines in run.settings.items():
            instrument = _add_element(instruments, "instrument", name=name)
            dictionary = _add_element(_add_element(instrument, "array"), "dictionary")
            for line in lines:
                key, _, words = line.partition(": ")
                _add_element(dictionary, "key", name=key).text = _clean_text(words)


def _duration(duration: float) -> str:
    text = f"{duration:.6f}"
    if float(text) == duration:
        return text
    return repr(duration)


def _add_element(parent: Element, tag: str, /, **attributes: str) -> Element:
    clean_attributes: dict[str, str] = {}
    for name, text in attributes.items():
        clean_name = _NOT_NAME.sub("_", name)
        clean_attributes[clean_name] = _clean_text(text)
    return etree.SubElement(parent, tag, clean_attributes)


def _clean_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
