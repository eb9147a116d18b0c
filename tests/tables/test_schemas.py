"""What `schemas.toml` declares: every schema that is known is read without a word of complaint."""

from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tracekit.tables.flat import read_flat
from tracekit.tables.normalize import dtype_of, normalize
from tracekit.tables.schema import ColumnKind
from tracekit.tables.schemas import SCHEMAS, needed_schemas, origins
from tracekit.tables.schemas import read as read_schemas
from tracekit.tables.values import FORMS, Form

KNOWN = {
    source.schema: (schema, source) for schema in SCHEMAS.values() for source in schema.sources
}
# The columns of schemas as Instruments 26.0 and 27.2 list them, "mnemonic:engineering-type".
LISTED = (Path(__file__).parent / "goldens/schemas.txt").read_text(encoding="utf-8").splitlines()
# Types whose text is not established, in columns that are presumed to hold numbers.
PRESUMED = {"displayed-surface-io-surface", "gpu-hardware-trace", "system-cpu-percent"}
# Sources of which no list of columns is known; those of tracekit's own begin with "host-" or
# "capture-".
UNLISTED = {"OSSignpostIntervals", "counters-profile", "xcode-counters"}
Export = Callable[..., Path]


def row(columns: str) -> str:
    numbers = count(1)

    def element(tag: str, content: str, fmt: str = "") -> str:
        return f'<{tag} id="{next(numbers)}"{fmt and f" fmt={fmt!r}"}>{content}</{tag}>'

    def cell(engineering_type: str) -> str:
        frame = '<frame name="main" addr="0x10"/>'
        match engineering_type:
            case "process":
                return element("process", element("pid", "7", "7"), "App (7)")
            case "thread":
                return element("thread", element("tid", "9", "9") + cell("process"), "Main 0x9")
            case "backtrace" | "text-backtrace":
                return element(engineering_type, frame)
            case "tagged-backtrace":
                return element("tagged-backtrace", element("backtrace", frame), "main")
            case "kperf-bt":
                return element("kperf-bt", element("text-address", "16", "0x10"), "PC:0x10")
            case _:
                tag = "uint64" if engineering_type == "any" else engineering_type
                number = FORMS.get(tag, Form.TEXT) is not Form.TEXT or tag in PRESUMED
                return element(tag, "7" if number else "x", "7" if number else "x")

    return f"<row>{''.join(cell(column.split(':')[1]) for column in columns.split())}</row>"


def test_every_listed_schema_of_a_table_is_read_without_a_word(export: Export) -> None:
    own = ("host-", "capture-")
    exported = {name for name in KNOWN.keys() - UNLISTED if not name.startswith(own)}
    assert {line.split(": ")[0] for line in LISTED} == exported
    offenders: dict[str, object] = {}
    empty = [(line, 0) for line in LISTED[::20]]
    for line, rows in (*((line, 1) for line in LISTED), *empty):
        name, columns = line.split(": ")
        schema, source = KNOWN[name]
        dtypes = {
            column.name: "int64" if column.kind is ColumnKind.TIME else dtype_of(column.kind)
            for column in schema.columns
        }
        flat = read_flat(export(columns, *[row(columns)] * rows, schema=name), name)
        table, remarks = normalize(flat.table, schema, source, frozenset({7}))
        null = [
            column.name
            for column in schema.columns
            if rows and column.source and not column.since and table[column.name].isna().any()
        ]
        wrong = (*flat.notes.losses, *remarks, *null)
        if wrong or len(table) != rows or table.dtypes.map(str).to_dict() != dtypes:
            offenders[name] = (*wrong, len(table), table.dtypes.map(str).to_dict())
    assert offenders == {}


def test_no_schema_of_an_export_is_read_by_two_tables() -> None:
    sources = Counter(source.schema for schema in SCHEMAS.values() for source in schema.sources)
    assert [name for name, tables in sources.items() if tables > 1] == []


def test_the_origin_of_a_table_is_named_through_joins() -> None:
    for table, origin in (
        ("gpu_states", "metal-gpu-state-intervals"),
        ("gpu_jobs", "metal-gpu-intervals or host-intervals"),
        ("shader_runs", "metal-shader-profiler-intervals with metal-shader-profiler-shader-list"),
    ):
        assert origins(SCHEMAS[table]) == origin


VALUES = "gpu-counter-value gpu-counter-info metal-gpu-info"


def test_the_source_of_a_table_depends_on_the_recording() -> None:
    for table, there, expected in (
        ("gpu_states", "metal-gpu-state-intervals tick", "metal-gpu-state-intervals"),
        ("gpu_states", "tick", ""),
        ("gpu_counters", f"{VALUES} metal-gpu-counter-intervals", "metal-gpu-counter-intervals"),
        ("gpu_counters", VALUES, VALUES),
        ("gpu_counters", "gpu-counter-value", ""),
        ("phases", "os-signpost", "os-signpost"),
        ("phases", "os-signpost os-signpost-interval", "os-signpost-interval"),
        ("phases", "os-signpost-interval host-phases", "os-signpost-interval host-phases"),
        ("spans", "os-signpost-interval host-spans", "os-signpost-interval host-spans"),
        (
            "gpu_jobs",
            "metal-gpu-intervals metal-object-label tick",
            "metal-gpu-intervals metal-object-label",
        ),
        ("gpu_jobs", "metal-object-label", ""),
    ):
        assert needed_schemas([table], frozenset(there.split())) == set(expected.split())


COMMON = 'common = "start | time | start | when it began"\n'


def test_a_wrong_entry_is_named(subtests: pytest.Subtests) -> None:
    for entry, message in (
        ('meaning = "m"', "missing required field `columns`"),
        ('sense = "m"\ncolumns = "start"', "unknown field `sense`"),
        ('meaning = "m"\ncolumns = "begin"', "things: 'begin' is not a common column"),
        ('meaning = "m"\ncolumns = "n | integer | n"', "things: not a name, a kind, a mnemonic"),
        ('meaning = "m"\ncolumns = "n | int | n | n"', "things: 'int' is not a valid ColumnKind"),
        (
            'meaning = "m"\ncolumns = "n | text | n | n | odd"',
            "things: 'odd' is not a remark for the col",
        ),
        ('meaning = "m"\ncolumns = "start"\njoin = "no"', "things: .* has no attribute 'no'"),
        ('meaning = "m"\ncolumns = "start"\nsources = [{}]', "things: a source is of one of"),
    ):
        with subtests.test(entry), pytest.raises(ValueError, match=message):
            read_schemas(f"{COMMON}[tables.things]\n{entry}\n")
