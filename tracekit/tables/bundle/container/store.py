"""One table of a bundle: its schema, columns and files; the list of the tables of a run.

`bulkstore_descriptor` lists the fields of a record in order; the first is the topology, which
represents the time, the duration of an interval, and two categories.

A table that is filled by one instrument and read by others is listed once for each side; the side
that reads, 1, occurs once for each store.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, Value
from tracekit.tables.bundle.container.requirements import (
    TOPOLOGIES,
    TYPE_SUFFIX,
    Field,
    Topology,
)
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.losses import Flaw, Loss

RECORDS = "bulkstore"
_LARGEST = 1 << 22
_MOST_COLUMNS = 1000
_MOST_ROWS = 1 << 40
_WIDTHS = {1: 4, 2: 8}
_OF_FIELD = ("_index", "_multi", "_type")

Spec = tuple[str, Mapping[str, Any]]
"""The schema of a table and its attributes, as plain values."""


@dataclass(frozen=True)
class StoreColumn:
    """A column as the schema declares it; `type_id` is without its ending "TypeID"."""

    mnemonic: str
    title: str
    type_id: str
    field: Field


@dataclass(frozen=True)
class TableStore:
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
        """The folder of its files in the bundle."""
        return store_folder(self.run, self.number)

    @property
    def bulkstore(self) -> str:
        """The file of its records."""
        return f"{self.folder}/{RECORDS}"


@dataclass(frozen=True)
class Unreadable:
    """A table whose description is damaged or of an unknown form; `reason` is a sentence."""

    run: int
    number: int
    reason: str
    schema: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def loss(self) -> Loss:
        """The loss of the table, with the reason."""
        name = f"Store {self.number}"
        if self.schema:
            name = f"{self.schema} (store {self.number})"
        text = f"{name} of run {self.run} is left out: {self.reason}"
        return Loss(Flaw.DAMAGED, text, schema=self.schema, run=self.run)


def run_folder(run: int) -> str:
    """Return the folder of the files of a run."""
    return f"corespace/run{run}/core"


def store_folder(run: int, number: int) -> str:
    """Return the folder of the files of a table."""
    return f"{run_folder(run)}/stores/indexed-store-{number}"


def read_store(files: Files, run: int, number: int) -> TableStore:
    """Read the description of a table, and check that its records have the layout in it."""
    folder = store_folder(run, number)
    if not files.exists(folder):
        raise files.make_damage_error(folder, "is missing")
    schema, attributes = read_spec(files, run, number)
    root = _schema(files, f"{folder}/schema.xml")
    topology = TOPOLOGIES.get(root.get("topology", ""))
    if root.get("name") != schema or topology is None:
        raise files.make_damage_error(f"{folder}/schema.xml", f"is not the one of {schema}")
    name = f"{folder}/bulkstore_descriptor"
    with files.reading(name):
        archive = Archive(files.read(name, _LARGEST))
        store_node = archive.part(archive.root, "$0")
        record_fields, size, rows = _layout(archive, store_node, topology)
    with files.reading(f"{folder}/schema.xml"):
        columns = tuple(_columns(root, topology, record_fields))
    files.size(f"{folder}/{RECORDS}")
    return TableStore(run, number, schema, attributes, columns, rows, size)


def read_spec(files: Files, run: int, number: int) -> Spec:
    """Return schema and attributes of a table, as plain values; raise BundleError if damaged."""
    name = f"{store_folder(run, number)}/spec.plist"
    with files.reading(name):
        archive = Archive(files.read(name, _LARGEST))
        return _decode_spec(archive, archive.root)


def _decode_spec(archive: Archive, node: Value) -> Spec:
    """Return the schema and the attributes of an archived specification of a table."""
    schema = archive.unwrap(archive.part(node, "schemaName"))
    if not isinstance(schema, str) or not schema:
        raise ArchiveError("names no schema")
    attributes: dict[str, Any] = {}
    attributes_node = archive.part(node, "attributes")
    if attributes_node is not None:
        for key, value in archive.mapping(attributes_node).items():
            attributes[str(key)] = _attribute(archive, value)
    return schema, attributes


def _attribute(archive: Archive, value: Value) -> Any:
    plain_value = archive.unwrap(value)
    if isinstance(plain_value, Mapping):
        return [archive.unwrap(member) for member in archive.sequence(value)]
    return plain_value


def _schema(files: Files, name: str) -> Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        content = files.read(name, _LARGEST)
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise files.make_damage_error(name, "is not XML") from error
    document_type = root.getroottree().docinfo.internalDTD
    if document_type or root.tag != "schema":
        raise files.make_damage_error(name, "is not a schema")
    if len(root) > _MOST_COLUMNS:
        raise files.make_damage_error(name, f"has more than {_MOST_COLUMNS} columns")
    return root


def _columns(root: Element, topology: Topology, fields: list[Field]) -> Iterator[StoreColumn]:
    remaining_fields = iter(fields)
    for column in root.iterfind("column"):
        name = column.get("topologyField")
        place = topology.fields.get(name) if name else next(remaining_fields, None)
        mnemonic = column.get("mnemonic")
        type_id = column.get("engineeringType", "")
        if place is None or not mnemonic or not type_id.endswith(TYPE_SUFFIX):
            raise ArchiveError("has columns that its records do not")
        title = column.get("engineeringName", "")
        yield StoreColumn(mnemonic, title, type_id.removesuffix(TYPE_SUFFIX), place)
    if next(remaining_fields, None) is not None:
        raise ArchiveError("lacks columns that its records have")


def _layout(archive: Archive, node: Value, topology: Topology) -> tuple[list[Field], int, int]:
    """Return the fields after the topology, the size of a record, and the number of rows."""
    kinds: list[int] = []
    is_known = True
    field_nodes = archive.sequence(archive.part(node, "_fields"))
    for place, entry in enumerate(field_nodes):
        field_node = archive.part(entry, "$0")
        index, multi, kind = [_number(archive, field_node, name) for name in _OF_FIELD]
        is_known = is_known and (index, multi) == (place, 1)
        kinds.append(kind)
    widths = [_WIDTHS.get(kind, 0) for kind in kinds[1:]]
    *offsets, size = accumulate(widths, initial=topology.size)
    largest = _number(archive, node, "_maxEventSize")
    smallest = _number(archive, node, "_minEventSize")
    rows = _number(archive, archive.part(node, "_props"), "next_event_id")
    if (
        not is_known
        or kinds[:1] not in ([], [topology.number])
        or 0 in widths
        or archive.unwrap(archive.part(node, "_variableSize"))
        or not smallest == largest == size
        or not 0 <= rows <= _MOST_ROWS
    ):
        raise ArchiveError("has records of a layout that is not known")
    fields = [Field(offset, width) for offset, width in zip(offsets, widths, strict=True)]
    return fields, size, rows


def _number(archive: Archive, node: Value, key: str) -> int:
    value = archive.unwrap(archive.part(node, key))
    if not isinstance(value, int):
        raise ArchiveError(f"has no number {key}")
    return int(value)


_LARGEST_TABLE_LIST = 1 << 26
_READ = 1
_STORE = re.compile(r"run([0-9]{1,9})/core/stores/indexed-store-([0-9]{1,9})", re.ASCII)


def same_table(spec: Spec, other_spec: Spec) -> bool:
    """Return whether two specifications are of one table.

    The members of an attribute may be archived as a set, which has no order.
    """
    return _sort_members(spec) == _sort_members(other_spec)


def _sort_members(spec: Spec) -> tuple[str, dict[str, Any]]:
    schema, attributes = spec
    sorted_attributes = dict(attributes)
    for key, value in attributes.items():
        if isinstance(value, list):
            sorted_attributes[key] = sorted(map(str, value))
    return schema, sorted_attributes


def table_list(run: int) -> str:
    """Return the file of the list of the tables of a run in a bundle."""
    return f"{run_folder(run)}/table-manager/tables.plist"


def listed_stores(files: Files, run: int) -> dict[int, Spec]:
    """Return the stores that a run must have, by their numbers."""
    name = table_list(run)
    with files.reading(name):
        archive = Archive(files.read(name, _LARGEST_TABLE_LIST))
        details = archive.mapping(archive.root).get("tableDetails")
        return dict(_iter_specs(archive, details, run))


def _iter_specs(archive: Archive, details: Value, run: int) -> Iterator[tuple[int, Spec]]:
    for _, node in archive.by_number(details):
        entry = archive.mapping(node)
        subpath = str(archive.unwrap(entry.get("storeSubpath")))
        match = _STORE.fullmatch(subpath)
        if match is None or int(match[1]) != run:
            raise ArchiveError("names a store that is none of its run")
        if archive.unwrap(entry.get("side")) == _READ:
            spec = _decode_spec(archive, entry.get("spec"))
            yield int(match[2]), spec
