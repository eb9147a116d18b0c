"""Exports to the tables of a bundle, so that any of them can be written as one and read back."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from lxml import etree

from bundle_writer.document import RunInfo
from bundle_writer.engineering_types import BY_TAG, EngineeringType
from bundle_writer.symbols import Image, Symbol
from bundle_writer.values import (
    DURATION,
    TIME,
    Backtrace,
    Callstack,
    Col,
    Label,
    Location,
    Part,
    Process,
    Table,
    TextSymbol,
    Thread,
    ThreadName,
    Value,
)

_TIMES = {"start-time", "event-time", "sample-time"}
_PLACE = re.compile(r"table\[([0-9]+)\]")
_QUOTED = re.compile(r'"([^"]*)"')
_QUOTED_ALONE = {"subsystem", "category", "pmi-event"}
_PROCESS = re.compile(r"(.*) \([0-9]+\)", re.DOTALL)
_THREAD = re.compile(r"(.*?) 0x[0-9a-f]+ \(.*, pid: [0-9]+\)", re.DOTALL)
Element = etree._Element


class UnstorableError(ValueError):
    """How a bundle stores such a cell is not known."""


@dataclass
class Loaded:
    """A binary that frames have named, and the names of places in it."""

    binary: dict[str, str]
    names: dict[int, str] = field(default_factory=dict[int, str])

    def image(self) -> Image:
        start = int(self.binary["load-addr"], 16)
        names = {place - start: name for place, name in sorted(self.names.items())}
        symbols = tuple(Symbol(offset, 1, name) for offset, name in names.items() if name)
        size = max(names, default=0) + 1
        uuid, path, arch = (self.binary[name] for name in ("UUID", "path", "arch"))
        return Image(UUID(uuid), path, start, size, arch, symbols)


Images = dict[int, dict[tuple[str, ...], Loaded]]
"""Binaries by process and by their attributes."""


class Cells:
    """The cells of one export; what is defined once is found again."""

    def __init__(self, root: Element, target: Process, images: Images) -> None:
        """Take a document, the process of stacks whose row names none, and where images go."""
        self._defined = {
            element.get("id"): element for element in root.iter() if element.get("id") is not None
        }
        self._target = target
        self._images = images
        self._values: dict[tuple[str, int | None], Value] = {}
        self._by_kind: dict[str, Callable[[Element], Value]] = {
            "string": lambda cell: cell.text or "",
            "number": self._number,
            "ratio": lambda cell: tuple(int(child.text or "") for child in map(self.resolve, cell)),
            "decimal": lambda cell: Decimal(cell.text or ""),
            "process": self._process,
            "thread": self._thread,
            "thread-name": lambda cell: ThreadName(*self._children(cell)),
            "uuid": self._uuid,
            "location": self._location,
            "label": self._label,
            "numbers": lambda cell: tuple(map(int, (cell.text or "").split())),
            "callstack": self._callstack,
            "text-symbol": self._text_symbol,
        }

    def values(self, row: Element, places: list[int]) -> list[Value]:
        cells = [self.resolve(row[place]) for place in places]
        stacks = any(cell.tag == "backtrace" for cell in cells)
        process = next(self._processes(row), self._target) if stacks else self._target
        return [self._cell(cell, process) for cell in cells]

    def resolve(self, cell: Element) -> Element:
        """Return the element that a cell repeats, or itself."""
        return cell if cell.get("ref") is None else self._defined[cell.get("ref")]

    def _processes(self, row: Element) -> Iterator[Process]:
        for cell in map(self.resolve, row):
            if cell.tag == "process":
                yield self._process(cell)
            elif cell.tag == "thread":
                owner = self._thread(cell).process
                if owner is not None:
                    yield owner

    def _cell(self, cell: Element, process: Process) -> Value:
        if cell.tag == "sentinel":
            return None
        place = (cell.get("id") or "", process.pid if cell.tag == "backtrace" else None)
        if not place[0] or place not in self._values:
            stack = cell.tag == "backtrace"
            value = self._backtrace(cell, process) if stack else self._value(cell)
            self._values[place] = value
        return self._values[place]

    def _value(self, cell: Element) -> Value:
        convert = self._by_kind.get(type_of(cell.tag).kind)
        if convert is None:
            raise UnstorableError(f"<{cell.tag}>")
        return convert(cell)

    def _number(self, cell: Element) -> int:
        number = int(cell.text or "")
        kind = type_of(cell.tag)
        if kind.kind == "number" and not 0 <= number <= kind.null:
            raise UnstorableError(f"<{cell.tag}> of {number}")
        return number

    def _children(self, cell: Element) -> list[Any]:
        children = map(self.resolve, cell)
        return [None if child.tag == "sentinel" else self._value(child) for child in children]

    def _process(self, cell: Element) -> Process:
        pid, session = self._children(cell)
        name = _PROCESS.fullmatch(cell.get("fmt", ""))
        return Process(pid, name[1] if name else "", session)

    def _thread(self, cell: Element) -> Thread:
        tid, process = self._children(cell)
        name = _THREAD.fullmatch(cell.get("fmt", ""))
        return Thread(tid, process, name[1] if name else "")

    def _uuid(self, cell: Element) -> UUID:
        upper_half, lower_half = (int(self.resolve(half).text or "") for half in cell)
        return UUID(int=upper_half << 64 | lower_half)

    def _location(self, cell: Element) -> Location:
        image, offset = map(self.resolve, cell)
        return Location(self._uuid(image), int(offset.text or ""))

    def _text_symbol(self, cell: Element) -> TextSymbol:
        process, address = map(self.resolve, cell)
        return TextSymbol(self._process(process), int(address.text or ""))

    def _label(self, cell: Element) -> Label:
        parts, label_text = map(self.resolve, cell), cell.get("fmt")
        texts = [part.get("fmt", part.text or "") for part in parts]
        if label_text is not None and " ".join(texts) != label_text:
            return Label((Part("XRPrototypeStringTypeID", label_text),))  # made, not by Instruments
        return Label(tuple(map(self._part, cell)))

    def _part(self, cell: Element) -> Part:
        element = self.resolve(cell)
        if element.tag == "sentinel":
            return Part("XRPrototypeStringTypeID", None)
        return Part(type_of(element.tag).name, self._value(element))

    def _callstack(self, cell: Element) -> Callstack:
        tags = [self.resolve(child).tag for child in cell]
        expected = ["text-addresses", "text-address", "process"]
        if tags[:3] != expected or set(tags[3:]) - {"register-content"}:
            raise UnstorableError(f"<{cell.tag}> of {' '.join(tags)}")
        returns, pc, process, *registers = map(self.resolve, cell)
        return Callstack(
            int(pc.text or ""),
            self._process(process),
            tuple(map(int, (returns.text or "").split())),
            tuple(int(register.text or "") for register in registers),
        )

    def _backtrace(self, cell: Element, process: Process) -> Backtrace:
        while len(cell) == 1 and self.resolve(cell[0]).tag == "backtrace":
            cell = self.resolve(cell[0])
        frames = [self.resolve(frame) for frame in cell]
        addresses = tuple(int(frame.get("addr", ""), 16) for frame in frames)
        for depth, (frame, address) in enumerate(zip(frames, addresses, strict=True)):
            self._take_names(frame, address, process, leaf=depth == 0)
        return Backtrace(((process, addresses),))

    def _take_names(self, frame: Element, address: int, process: Process, *, leaf: bool) -> None:
        name, binary = frame.get("name", ""), frame.find("binary")
        if binary is None:
            return
        attributes = dict(self.resolve(binary).attrib)
        images = self._images.setdefault(process.pid or 0, {})
        loaded = images.setdefault(tuple(sorted(attributes.values())), Loaded(attributes))
        address_text = hex(address if leaf else address - 1)
        loaded.names.setdefault(address - 1, "" if name == address_text else name)


def type_of(tag: str) -> EngineeringType:
    """Return the type of cells with that tag; raise UnstorableError if none is known."""
    if tag not in BY_TAG:
        raise UnstorableError(f"<{tag}>")
    return BY_TAG[tag]


@dataclass
class Converted:
    """What became of exports: tables, how the run went, and which columns were left out."""

    tables: list[Table] = field(default_factory=list[Table])
    info: RunInfo = field(default_factory=RunInfo)
    omitted_columns: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


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
            table = _table(node, cells, converted.omitted_columns)
            table.attributes = _attributes(root, node.get("xpath", ""))
            converted.tables.append(table)
    listed = {
        pid: tuple(loaded.image() for loaded in loaded_images.values())
        for pid, loaded_images in images.items()
    }
    converted.info = replace(converted.info, images=listed)
    return converted


def _root(path: Path) -> Element:
    return etree.parse(path, etree.XMLParser(huge_tree=True)).getroot()


def _table(node: Element, cells: Cells, omitted_columns: set[tuple[str, str]]) -> Table:
    schema = node.find("schema")
    assert schema is not None
    name = schema.get("name", "")
    declared = [tuple(part.text or "" for part in column) for column in schema.iterfind("col")]
    rows = node.findall("row")
    places = [
        place for place, (*_, tag) in enumerate(declared) if _storable(place, tag, rows, cells)
    ]
    omitted_columns |= {
        (name, column[0]) for place, column in enumerate(declared) if place not in places
    }
    columns = _columns([declared[place] for place in places])
    values = [cells.values(row, places) for row in rows]
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
    return all(isinstance(time, int) for time in times) and times == sorted(times)


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
        paths={
            int(attributes["pid"]): attributes["path"]
            for attributes in processes
            if "path" in attributes
        },
        settings=_settings(run),
    )


def _zone(start: str) -> str:
    offset = datetime.fromisoformat(start).utcoffset()
    hours = 0 if offset is None else round(offset.total_seconds() / 3600)
    return f"Etc/GMT{-hours:+d}" if hours else "Etc/UTC"


def _settings(run: Element) -> dict[str, list[dict[str, Any]]]:
    instruments = run.iterfind("info/summary/intruments-recording-settings/instrument")
    return {
        instrument.get("name", ""): [
            {
                key.get("name", ""): [value.text or "" for value in key] if len(key) else key.text
                for key in dictionary.iterfind("key")
            }
            for dictionary in instrument.iterfind("array/dictionary")
        ]
        for instrument in instruments
    }
