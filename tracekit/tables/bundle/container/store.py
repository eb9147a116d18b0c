"""One table of a bundle: its schema, its attributes, and where each column lies in a record."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

# The classes of lxml's elements have no public name.
from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value

FIRST_RECORD = 0x1000
CHUNK_ROWS = 65_536
_LARGEST = 1 << 22
_MOST_COLUMNS = 1000
_MOST_ROWS = 1 << 40
_TIME, _DURATION = "XRTraceRelativeTimestampFieldID", "XRDurationFieldID"
_CATEGORIES = ("XRCategory1FieldID", "XRCategory2FieldID")
_POINT = ((_TIME, 8), *((name, 4) for name in _CATEGORIES))
_INTERVAL = ((_TIME, 8), (_DURATION, 8), *((name, 4) for name in _CATEGORIES))
_TOPOLOGIES = {"XRT64_CC32_R_TypeID": (7, _POINT), "XRTD64_CC32_R_TypeID": (6, _INTERVAL)}
_WIDTHS = {1: 4, 2: 8}

Width = Literal[4, 8]


@dataclass(frozen=True)
class Field:
    """Where a column lies in a record: offset and width in bytes."""

    offset: int
    width: Width


@dataclass(frozen=True)
class StoreColumn:
    """A column as the schema declares it; `type_id` is without its ending "TypeID"."""

    mnemonic: str
    title: str
    type_id: str
    field: Field


@dataclass(frozen=True)
class Store:
    """A table of a run. `number` is that of its folder, `record` the bytes of a row."""

    run: int
    number: int
    schema: str
    attributes: Mapping[str, Any]
    columns: tuple[StoreColumn, ...]
    rows: int
    record: int

    @property
    def folder(self) -> str:
        """Where its files are in the bundle."""
        return store_folder(self.run, self.number)

    @property
    def bulkstore(self) -> str:
        """The file of its records."""
        return f"{self.folder}/bulkstore"


@dataclass(frozen=True)
class Unreadable:
    """A table whose description is damaged or of an unknown form; `why` is a sentence."""

    run: int
    number: int
    why: str
    schema: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


def run_folder(run: int) -> str:
    """Return where the files of a run are."""
    return f"corespace/run{run}/core"


def store_folder(run: int, number: int) -> str:
    """Return where the files of a table are."""
    return f"{run_folder(run)}/stores/indexed-store-{number}"


def read_store(files: Files, run: int, number: int) -> Store:
    """Read what a table is, and check that its records are laid out as that says.

    Raises:
        BundleError: A file is damaged, or of a form that is not known.
    """
    folder = store_folder(run, number)
    schema, attributes = read_spec(files, run, number)
    root = _schema(files, f"{folder}/schema.xml")
    topology = _TOPOLOGIES.get(root.get("topology", ""))
    if root.get("name") != schema or topology is None:
        raise files.damaged(f"{folder}/schema.xml", f"is not the one of {schema}")
    layout = _Layout(files, f"{folder}/bulkstore_descriptor", *topology)
    columns = tuple(_columns(files, f"{folder}/schema.xml", root, layout))
    return Store(run, number, schema, attributes, columns, layout.rows, layout.record)


def read_spec(files: Files, run: int, number: int) -> tuple[str, dict[str, Any]]:
    """Return schema and attributes of a table, as plain values; raise BundleError if damaged."""
    name = f"{store_folder(run, number)}/spec.plist"
    try:
        archive = Archive(files.read(name, _LARGEST))
        return _spec(archive)
    except ArchiveError as error:
        raise files.damaged(name, str(error)) from error


def _spec(archive: Archive) -> tuple[str, dict[str, Any]]:
    schema = archive.plain(archive.part(archive.root, "schemaName"))
    if not isinstance(schema, str) or not schema:
        raise ArchiveError("names no schema")
    attributes = archive.part(archive.root, "attributes")
    found = {} if attributes is None else archive.mapping(attributes)
    return schema, {str(key): _attribute(archive, value) for key, value in found.items()}


def _attribute(archive: Archive, value: Value) -> Any:
    found = archive.plain(value)
    if isinstance(found, Mapping):
        return [archive.plain(one) for one in archive.sequence(value)]
    return found


def _schema(files: Files, name: str) -> Element:
    content = files.read(name, _LARGEST)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.parse(io.BytesIO(content), parser).getroot()
    except etree.XMLSyntaxError as error:
        raise files.damaged(name, "is no XML") from error
    if root.getroottree().docinfo.internalDTD or root.tag != "schema":
        raise files.damaged(name, "is no schema")
    if len(root) > _MOST_COLUMNS:
        raise files.damaged(name, f"has more than {_MOST_COLUMNS} columns")
    return root


def _columns(files: Files, name: str, root: Element, layout: "_Layout") -> Iterator[StoreColumn]:
    own = iter(layout.fields)
    for column in root.iterfind("column"):
        topology = column.get("topologyField")
        place = layout.topology.get(topology) if topology else next(own, None)
        mnemonic, type_id = column.get("mnemonic"), column.get("engineeringType", "")
        if place is None or not mnemonic or not type_id.endswith("TypeID"):
            raise files.damaged(name, "has columns that its records do not")
        title = column.get("engineeringName", "")
        yield StoreColumn(mnemonic, title, type_id.removesuffix("TypeID"), place)
    if next(own, None) is not None:
        raise files.damaged(name, "lacks columns that its records have")


class _Layout:
    """Where the fields of a record lie, as `bulkstore_descriptor` says."""

    def __init__(
        self, files: Files, name: str, kind: int, parts: tuple[tuple[str, int], ...]
    ) -> None:
        try:
            self._read(Archive(files.read(name, _LARGEST)), kind, parts)
        except ArchiveError as error:
            raise files.damaged(name, str(error)) from error

    def _read(self, archive: Archive, kind: int, parts: tuple[tuple[str, int], ...]) -> None:
        found = archive.mapping(archive.part(archive.root, "$0"))
        offset = 0
        self.topology: dict[str, Field] = {}
        for part, width in parts:
            self.topology[part] = Field(offset, 8 if width == 8 else 4)  # noqa: PLR2004
            offset += width
        self.fields: list[Field] = []
        for number, one in enumerate(archive.sequence(found.get("_fields"))):
            about = archive.mapping(archive.part(one, "$0"))
            stored = _number(archive, about, "_type")
            if (
                _number(archive, about, "_index") != number
                or _number(archive, about, "_multi") != 1
            ):
                raise ArchiveError("has fields in an unknown order")
            if number == 0:
                if stored != kind:
                    raise ArchiveError("has records of another topology than its schema")
                continue
            if stored not in _WIDTHS:
                raise ArchiveError(f"has a field of the unknown type {stored}")
            width = _WIDTHS[stored]
            self.fields.append(Field(offset, 8 if width == 8 else 4))  # noqa: PLR2004
            offset += width
        self.record = offset
        self._check_size(archive, found)
        self.rows = _number(archive, archive.mapping(found.get("_props")), "next_event_id")
        if not 0 <= self.rows <= _MOST_ROWS:
            raise ArchiveError("says that it has more rows than there can be")

    def _check_size(self, archive: Archive, found: Mapping[Any, Value]) -> None:
        if archive.plain(found.get("_variableSize")):
            raise ArchiveError("has records of different sizes, which are not known")
        sizes = {_number(archive, found, name) for name in ("_maxEventSize", "_minEventSize")}
        if sizes != {self.record}:
            raise ArchiveError("has records of another size than their fields")


def _number(archive: Archive, found: Mapping[Any, Value], key: str) -> int:
    value = archive.plain(found.get(key))
    if not isinstance(value, int):
        raise ArchiveError(f"has no number {key}")
    return int(value)


def as_dtype(store: Store, fields: Mapping[str, Field]) -> np.dtype[np.void]:
    """Return the dtype of a record of which some fields are looked at, by names of the caller."""
    return np.dtype(
        {
            "names": [*fields],
            "formats": [f"<u{one.width}" for one in fields.values()],
            "offsets": [one.offset for one in fields.values()],
            "itemsize": store.record,
        }
    )
