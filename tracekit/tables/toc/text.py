"""A table of contents in the grammar of `xctrace export --toc`, so that any tool can read it.

What is read of it again is what was written. It holds what is private: the names of the device and
of processes, arguments, paths. The values of the environment are not known and so not written.
"""

import re
from collections.abc import Mapping, Sequence

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.toc.toc import NAMES, TEXTS, Dictionaries, Toc, TocDetail, TocRun

_DECLARATION = '<?xml version="1.0"?>\n\n'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_NAME = re.compile(r"^(?![A-Za-z_])|[^A-Za-z0-9_.-]", re.ASCII)
_PLACE = re.compile(r"track\[([0-9]{1,6})\]/detail\[[0-9]+\]", re.ASCII)


def toc_text(toc: Toc, settings: Mapping[int, Mapping[str, Dictionaries]] | None = None) -> str:
    """Return a table of contents as text.

    Args:
        toc: What it says. What tracekit did not know in it is not there.
        settings: Of runs by their numbers and of instruments by their names, the settings as a
            bundle keeps them. Others are written from the lines that the TOC has of them.
    """
    root = etree.Element("trace-toc")
    for run in toc.runs:
        _run(root, run, (settings or {}).get(run.number, {}))
    etree.indent(root, space="    ")
    return _DECLARATION + etree.tostring(root, encoding="unicode") + "\n"


def _run(root: Element, run: TocRun, settings: Mapping[str, Dictionaries]) -> None:
    element = _below(root, "run", number=str(run.number))
    info = _below(element, "info")
    _target(_below(info, "target"), run)
    _summary(_below(info, "summary"), run, settings)
    processes = _below(element, "processes")
    for process in run.processes:
        path = {"path": run.paths[process.pid]} if process.pid in run.paths else {}
        _below(processes, "process", name=process.name, pid=str(process.pid), **path)
    data = _below(element, "data")
    for table in sorted(run.tables, key=lambda one: one.index):
        _below(data, "table", **(table.attributes | {"schema": table.schema}))
    for other in run.external_formats:
        _below(
            data, "external-format", format=other.format, **{"source-schema": other.source_schema}
        )
    _tracks(_below(element, "tracks"), run.details)


def _target(target: Element, run: TocRun) -> None:
    if run.device:
        _below(target, "device", **run.device)
    said = {
        place.partition("/@")[2]: text
        for name, place in TEXTS.items()
        if "@" in place and (text := getattr(run, name))
    }
    if run.target is not None:
        said |= {"name": run.target.name, "pid": str(run.target.pid)}
    if said:
        _below(target, "process", **said)
    if run.all_processes:
        _below(target, "all-processes")
    if run.environment:
        environment = _below(target, "environment")
        for name in run.environment:
            _below(environment, "item", key=name)


def _summary(summary: Element, run: TocRun, settings: Mapping[str, Dictionaries]) -> None:
    for name, place in TEXTS.items():
        if "@" not in place and (text := getattr(run, name)):
            _below(summary, place.rpartition("/")[2]).text = _plain(text)
        if name == "end_date" and run.duration is not None:
            _below(summary, "duration").text = _seconds(run.duration)
    if run.settings:
        instruments = _below(summary, NAMES[0])
        for name, lines in run.settings.items():
            instrument = _below(instruments, "instrument", name=name)
            if name in settings:
                _dictionaries(_below(instrument, "array"), settings[name])
            elif lines:
                _options(_below(instrument, "options"), lines)


def _seconds(duration: float) -> str:
    text = f"{duration:.6f}"
    return text if float(text) == duration else repr(duration)


def _dictionaries(array: Element, dictionaries: Dictionaries) -> None:
    for one in dictionaries:
        dictionary = _below(array, "dictionary")
        for name, value in one.items():
            key = _below(dictionary, "key", name=name)
            if isinstance(value, str):
                key.text = _plain(value)
            else:
                for each in value:
                    _below(key, "value").text = _plain(each)


def _options(options: Element, lines: Sequence[str]) -> None:
    for line in lines:
        key, _, value = line.partition(": ")
        _below(options, "option", key=key, value=value)


def _tracks(tracks: Element, details: Sequence[TocDetail]) -> None:
    by_track: dict[int, list[TocDetail]] = {}
    for detail in details:
        place = _PLACE.fullmatch(detail.place)
        by_track.setdefault(int(place[1]) if place else len(by_track) + 1, []).append(detail)
    for number in range(1, max(by_track, default=0) + 1):
        listed = by_track.get(number, [])
        track = _below(tracks, "track", **({"name": listed[0].track} if listed else {}))
        below = _below(track, "details")
        for detail in listed:
            kind = {"kind": detail.kind} if detail.kind else {}
            _below(below, "detail", name=detail.name, **kind)


def _below(parent: Element, tag: str, /, **attributes: str) -> Element:
    plain = {_name(key): _plain(value) for key, value in attributes.items()}
    return etree.SubElement(parent, tag, plain)


def _name(text: str) -> str:
    """Return an attribute's name as XML can hold it."""
    return _NOT_NAME.sub("_", text)


def _plain(text: str) -> str:
    """Return a text as XML can hold it."""
    return _NOT_XML.sub("\ufffd", text)
