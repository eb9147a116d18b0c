"""Read a table of contents, as `xctrace export --toc` writes it, and which of its runs is meant.

Runs of one trace are recordings of their own: each has its target, its times and its tables. A
pid that two runs name is two processes.
"""

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
from tracekit.tables.toc.toc import (
    NAMES,
    ExternalFormat,
    Toc,
    TocDetail,
    TocRun,
    TocTable,
    settings,
)

_ANY = frozenset("*")
_SUMMARY = """
    start-date end-date duration end-reason instruments-version template-name recording-mode
    time-limit
"""
_SETTING = {
    "array": frozenset[str](),
    "dictionary": frozenset[str](),
    "key": frozenset({"name"}),
    "value": frozenset[str](),
    "options": frozenset[str](),
    "option": frozenset({"key", "value"}),
}
_ATTRIBUTES: dict[str, frozenset[str]] = {
    path: frozenset(attributes.split())
    for path, attributes in {
        "run": "number",
        "run/info": "",
        "run/info/target": "",
        "run/info/target/device": "*",
        "run/info/target/host-device": "*",
        "run/info/target/process": (
            "type name pid arguments return-exit-status termination-reason"
        ),
        "run/info/target/all-processes": "",
        "run/info/target/environment": "",
        "run/info/target/environment/item": "key value",
        "run/info/environment": "",
        "run/info/environment/item": "key value",
        "run/info/summary": "",
        **{f"run/info/summary/{name}": "" for name in _SUMMARY.split()},
        **{f"run/info/summary/{name}": "" for name in NAMES},
        **{f"run/info/summary/{name}/instrument": "name" for name in NAMES},
        "run/processes": "",
        "run/processes/process": "name pid path",
        "run/data": "",
        "run/data/table": "*",
        "run/data/external-format": "format source-schema",
        "run/tracks": "",
        "run/tracks/track": "name",
        "run/tracks/track/details": "",
        "run/tracks/track/details/detail": "name kind",
    }.items()
}


def unknown(element: Element, path: str) -> tuple[str, ...]:
    """Return the paths of the elements and attributes below `element` that are not known.

    What stands within an unknown element belongs to it and is not named as well.
    """
    return tuple(dict.fromkeys(_unknown(element, path)))


def _unknown(element: Element, path: str) -> Iterator[str]:
    known = _known(path)
    if known is None:
        yield path
        return
    if known != _ANY:
        yield from (f"{path}/@{name}" for name in map(str, element.keys()) if name not in known)
    for child in element:
        yield from _unknown(child, f"{path}/{child.tag}")


def _known(path: str) -> frozenset[str] | None:
    above, within, inside = path.partition("/instrument/")
    if within and above.rpartition("/")[2] in NAMES:
        return _SETTING.get(inside.rpartition("/")[2])
    return _ATTRIBUTES.get(path)


@dataclass(frozen=True)
class Wanted:
    """One table to export: `place` chooses among tables of one schema, None if it is alone.

    `index` is its number in the TOC, as in the xpath of its export.
    """

    schema: str
    place: int | None
    file: str
    index: int = field(default=0, compare=False)


def wanted(run: TocRun, schemas: Iterable[str]) -> tuple[Wanted, ...]:
    """Return the tables of `run` that have one of `schemas`, in the order of its TOC."""
    schemas = frozenset(schemas)
    listed = [table for table in run.tables if table.schema in schemas]
    counts, seen = Counter(table.schema for table in listed), Counter[str]()
    tables: list[Wanted] = []
    for table in listed:
        schema = table.schema
        seen[schema] += 1
        place = seen[schema]
        suffix = "" if place == 1 else f"-{place}"
        alone = counts[schema] == 1
        file = f"{schema}{suffix}.xml"
        tables.append(Wanted(schema, None if alone else place, file, table.index))
    return tuple(tables)


_LARGEST = 1 << 26
_ROOT = "trace-toc"
_PLAIN_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


def read_toc(path: Path) -> Toc:
    """Read a TOC as `xctrace export --toc` writes it; raise InputError if it is none."""
    root = _parse(path)
    if root.tag != _ROOT:
        raise InputError(
            f"{path} is not the table of contents of a trace: its root is <{root.tag}>.",
            hint="`xcrun xctrace export --input RECORDING.trace --toc` writes one.",
        )
    runs = root.findall("run")
    return Toc(
        runs=tuple(_run(path, run, place) for place, run in enumerate(runs, start=1)),
        unknown=tuple(
            dict.fromkeys(
                [f"@{name}" for name in map(str, root.keys())]
                + [str(child.tag) for child in root if child.tag != "run"]
            )
        ),
    )


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
    return TocRun(
        number=_integer(path, run.get("number", str(place))),
        device=_device(run),
        target=_target(path, process),
        target_type=_attribute(process, "type"),
        arguments=_attribute(process, "arguments"),
        exit_status=_attribute(process, "return-exit-status"),
        termination_reason=_attribute(process, "termination-reason"),
        all_processes=run.find("info/target/all-processes") is not None,
        duration=_seconds(path, _summary(run, "duration")),
        start_date=_summary(run, "start-date"),
        end_date=_summary(run, "end-date"),
        end_reason=_summary(run, "end-reason"),
        instruments_version=_summary(run, "instruments-version"),
        template=_summary(run, "template-name"),
        recording_mode=_summary(run, "recording-mode"),
        time_limit=_summary(run, "time-limit"),
        environment=tuple(item.get("key", "") for item in run.iterfind("info//environment/item")),
        settings=settings(run),
        processes=tuple(_process(path, one) for one in run.iterfind("processes/process")),
        paths=dict(_paths(path, run)),
        tables=tuple(_table(path, *one) for one in enumerate(run.iterfind("data/table"), start=1)),
        details=tuple(_details(run)),
        external_formats=tuple(_external_formats(run)),
        unknown=unknown(run, "run"),
    )


def _target(path: Path, process: Element | None) -> Process | None:
    if process is None or not process.get("pid"):
        return None
    return _process(path, process)


def _process(path: Path, process: Element) -> Process:
    return Process(_integer(path, process.get("pid", "")), process.get("name", ""))


def _paths(path: Path, run: Element) -> Iterator[tuple[int, str]]:
    for process in run.iterfind("processes/process[@path]"):
        yield _integer(path, process.get("pid", "")), process.get("path", "")


def _table(path: Path, index: int, table: Element) -> TocTable:
    attributes = {str(key): str(value) for key, value in table.items()}
    schema = attributes.pop("schema", "")
    if not schema:
        raise InputError(f"{path}: table {index} has no schema.")
    return TocTable(index, schema, attributes)


def _details(run: Element) -> Iterator[TocDetail]:
    for t, track in enumerate(run.iterfind("tracks/track"), start=1):
        for d, detail in enumerate(track.iterfind("details/detail"), start=1):
            yield TocDetail(
                place=f"track[{t}]/detail[{d}]",
                track=track.get("name", ""),
                name=detail.get("name", ""),
                kind=detail.get("kind", ""),
            )


def _external_formats(run: Element) -> Iterator[ExternalFormat]:
    for one in run.iterfind("data/external-format"):
        yield ExternalFormat(one.get("format", ""), one.get("source-schema", ""))


def _device(run: Element) -> dict[str, str]:
    for place in ("info/target/device", "info/target/host-device"):
        device = run.find(place)
        if device is not None:
            return {str(key): str(value) for key, value in device.items()}
    return {}


def _summary(run: Element, name: str) -> str:
    return (run.findtext(f"info/summary/{name}") or "").strip()


def _attribute(element: Element | None, name: str) -> str:
    return "" if element is None else element.get(name, "")


def _integer(path: Path, text: str) -> int:
    if _PLAIN_INTEGER.fullmatch(text) is None:
        raise InputError(f"{path} has {text!r} where a whole number belongs.")
    return int(text)


def _seconds(path: Path, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError(f"{path} has {text!r} where seconds belong.") from None


_MOST = 20


def required(runs: Sequence[TocRun], number: int | None, name: str) -> TocRun:
    """Return the run of that number, the last one without a number.

    Args:
        runs: All runs of a trace, at least one.
        number: The number that someone named.
        name: What the trace is called, for a sentence.
    """
    found = runs[-1] if number is None else next((r for r in runs if r.number == number), None)
    if found is None:
        raise UsageError(f"{name} has no run {number}.", hint=f"It has {listed(runs)}.")
    return found


def assumed(runs: Sequence[TocRun], run: TocRun, name: str) -> tuple[str, ...]:
    """Say which run is read if none was named, and which there are; nothing if there is but one."""
    if len(runs) < 2:  # noqa: PLR2004  several
        return ()
    which = "the last one" if run.number == runs[-1].number else "the last one with tables"
    there = f"{name} has {len(runs)} runs: {listed(runs)}."
    return (f"{there} Run {run.number}, {which}, is read; --run chooses another.",)


def own(recording: Recording) -> TocRun | None:
    """Return the run that a recording is about, the last one where it does not say; or none.

    Raises:
        InputError: The table of contents cannot be read.
    """
    runs = read_toc(recording.toc_file).runs
    known = recording.provenance().run if recording.provenance_file.exists() else None
    return next((run for run in runs if run.number == known), runs[-1] if runs else None)


def listed(runs: Sequence[TocRun]) -> str:
    """Name runs by number, with their targets and times."""
    more = [f"and {len(runs) - _MOST:,} more"] if len(runs) > _MOST else []
    return "; ".join([*(_described(run) for run in islice(runs, _MOST)), *more])


def _described(run: TocRun) -> str:
    target = f"{run.target.name} {run.target.pid}".strip() if run.target is not None else ""
    seconds = "" if run.duration is None else f"{run.duration:.3f} s"
    facts = [one for one in (target, run.start_date, seconds) if one]
    return f"run {run.number} ({', '.join(facts)})" if facts else f"run {run.number}"
