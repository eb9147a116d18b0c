"""Exports to the tables of a bundle, so that any of them can be written as one and read back."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lxml import etree

from bundle_writer.document import RunInfo
from bundle_writer.engineering_types import BY_TAG
from bundle_writer.export_cells import Cells, Element, Images, UnstorableError
from bundle_writer.values import DURATION, TIME, Col, Process, Table, Value

_TIMES = {"start-time", "event-time", "sample-time"}
_PLACE = re.compile(r"table\[([0-9]+)\]")
_QUOTED = re.compile(r'"([^"]*)"')
_QUOTED_ALONE = {"subsystem", "category", "pmi-event"}


@dataclass
class Converted:
    """What became of exports: tables, how the run went, and which columns were left out."""

    tables: list[Table] = field(default_factory=list[Table])
    info: RunInfo = field(default_factory=RunInfo)
    left_out: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def tables_of_exports(exports: Path | Iterable[Path], toc: Path | None = None) -> Converted:
    """Return the tables of exports.

    Args:
        exports: Files, or a folder of them with the `toc.xml` of the run.
        toc: The run's table of contents, if it is elsewhere.

    Returns:
        Columns of types of which it is not known how a bundle stores them are left out, by name.
    """
    if isinstance(exports, Path):
        toc = toc or exports / "toc.xml"
        exports = sorted(path for path in exports.glob("*.xml") if path.name != "toc.xml")
    root = None if toc is None else _root(toc)
    converted = Converted(info=RunInfo() if root is None else _run_info(root))
    target = Process(converted.info.pid, converted.info.process)
    images: Images = {}
    for path in exports:
        document = _root(path)
        cells = Cells(document, target, images)
        for node in document.iterfind("node"):
            table = _table(node, cells, converted.left_out)
            table.attributes = _attributes(root, node.get("xpath", ""))
            converted.tables.append(table)
    listed = {
        pid: tuple(loaded.image() for loaded in found.values()) for pid, found in images.items()
    }
    converted.info = replace(converted.info, images=listed)
    return converted


def _root(path: Path) -> Element:
    return etree.parse(path, etree.XMLParser(huge_tree=True)).getroot()


def _table(node: Element, cells: Cells, left_out: set[tuple[str, str]]) -> Table:
    schema = node.find("schema")
    assert schema is not None
    name = schema.get("name", "")
    declared = [tuple(part.text or "" for part in column) for column in schema.iterfind("col")]
    rows = node.findall("row")
    wanted = [
        place for place, (*_, tag) in enumerate(declared) if _storable(place, tag, rows, cells)
    ]
    left_out |= {(name, column[0]) for place, column in enumerate(declared) if place not in wanted}
    columns = _columns([declared[place] for place in wanted])
    values = [cells.values(row, wanted) for row in rows]
    if columns and columns[0].topology_field and not _in_order(values):
        # Rows that are not in the order of their times are stored without a time of the record's.
        columns = [replace(column, topology_field=None) for column in columns]
    return Table(name, columns, values)


def _storable(place: int, tag: str, rows: list[Element], cells: Cells) -> bool:
    try:
        for row in rows:
            cells.values(row, [place])
    except UnstorableError:
        return False
    return tag in BY_TAG


def _columns(declared: list[tuple[str, ...]]) -> list[Col]:
    columns: list[Col] = []
    for place, (mnemonic, title, tag) in enumerate(declared):
        topology = None
        if place == 0 and tag in _TIMES:
            topology = TIME
        elif place == 1 and tag == "duration" and columns[0].topology_field:
            topology = DURATION
        columns.append(Col(mnemonic, title, BY_TAG[tag].name, topology))
    return columns


def _in_order(rows: list[list[Value]]) -> bool:
    times = [(1 << 64) - 1 if row[0] is None else row[0] for row in rows]
    return all(isinstance(one, int) for one in times) and times == sorted(times)


def _attributes(toc: Element | None, xpath: str) -> dict[str, Any]:
    place = _PLACE.search(xpath)
    if toc is None or place is None:
        return {}
    table = toc.findall("run/data/table")[int(place[1]) - 1]
    return {name: _attribute(name, text) for name, text in table.items() if name != "schema"}


def _attribute(name: str, text: str) -> str | list[str]:
    if not text.startswith('"'):
        return text
    return text.strip('"') if name in _QUOTED_ALONE else _QUOTED.findall(text)


def _run_info(toc: Element) -> RunInfo:
    run = toc.find("run")
    assert run is not None
    process = run.find("info/target/process")
    target = {"pid": "0"} if process is None else dict(process.attrib)
    summary = {part.tag: part.text or "" for part in run.iterfind("info/summary/*")}
    start, status = summary["start-date"], target.get("return-exit-status")
    processes = [dict(listed.attrib) for listed in run.iterfind("processes/process")]
    return RunInfo(
        kind=target.get("type", "all-processes"),
        process=target.get("name", ""),
        pid=int(target.get("pid", -1)),
        arguments=target.get("arguments", ""),
        exit_status=None if status is None else int(status),
        start=datetime.fromisoformat(start).timestamp(),
        end=datetime.fromisoformat(summary.get("end-date", start)).timestamp(),
        duration=float(summary.get("duration", 0)),
        instruments_version=summary.get("instruments-version", ""),
        template_name=summary.get("template-name", ""),
        zone=_zone(start),
        paths={int(about["pid"]): about["path"] for about in processes if "path" in about},
        settings=_settings(run),
    )


def _zone(start: str) -> str:
    offset = datetime.fromisoformat(start).utcoffset()
    hours = 0 if offset is None else round(offset.total_seconds() / 3600)
    return f"Etc/GMT{-hours:+d}" if hours else "Etc/UTC"


def _settings(run: Element) -> dict[str, list[dict[str, Any]]]:
    found = run.iterfind("info/summary/intruments-recording-settings/instrument")
    return {
        one.get("name", ""): [
            {
                key.get("name", ""): [value.text or "" for value in key] if len(key) else key.text
                for key in dictionary.iterfind("key")
            }
            for dictionary in one.iterfind("array/dictionary")
        ]
        for one in found
    }
