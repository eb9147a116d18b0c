"""Read a table of contents, as `xctrace export --toc` writes it."""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base.errors import InputError
from tracekit.base.files import declares_document_type, hostile, open_input, unreadable
from tracekit.base.recording import Process
from tracekit.tables.toc.settings import settings
from tracekit.tables.toc.toc import ExternalFormat, Toc, TocDetail, TocRun, TocTable
from tracekit.tables.toc.unknown import unknown

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
