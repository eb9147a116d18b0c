"""Every schema that is known of a Metal recording is read without a word of complaint."""

import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from tracekit.tables.exports import identify
from tracekit.tables.flat import read_table
from tracekit.tables.normalize import dtype_of, normalize
from tracekit.tables.schema import Kind
from tracekit.tables.schemas import SCHEMAS, needed_schemas, origins
from tracekit.tables.schemas import read as read_schemas
from tracekit.tables.tables import Tables
from tracekit.tables.values import FORMS, Form

KNOWN = {
    source.schema: (schema, source) for schema in SCHEMAS.values() for source in schema.sources
}
# What columns the most important schemas have, so that nobody loses one without a test.
COLUMNS = {
    "metal-gpu-intervals": (
        "start:start-time duration:duration channel-name:gpu-channel-name "
        "frame-number:gpu-frame-number start-latency:duration event-depth:metal-nesting-level "
        "event-label:formatted-label state:gpu-state connection-UUID:connection-uuid64 "
        "color:render-buffer-depth process:process gpu:metal-device-name "
        "channel-subtitle:metal-object-label iosurface-accesses:formatted-label "
        "bytes:size-in-bytes cmdbuffer-id:metal-command-buffer-id "
        "encoder-id:metal-command-buffer-id gpu-submission-id:uint64"
    ),
    "gpu-counter-info": (
        "timestamp:event-time counter-id:uint32 name:gpu-counter-name max-value:uint64 "
        "accelerator-id:uint64 description:string group-index:uint32 type:string "
        "ring-buffer-count:uint32 require-weighted-accumulation:boolean sample-interval:uint32"
    ),
    "time-profile": (
        "time:sample-time thread:thread process:process core:core thread-state:thread-state "
        "weight:weight stack:backtrace"
    ),
    "os-signpost-arg": (
        "time:event-time format-string:format-string identifier:os-signpost-identifier "
        "signpost-name:signpost-name name:string thread:thread subsystem:subsystem "
        "category:category value:any"
    ),
}
# Types whose text is not established, in columns that are presumed to hold numbers.
PRESUMED = {"displayed-surface-io-surface", "gpu-hardware-trace", "system-cpu-percent"}
Export = Callable[..., Path]


def cell(engineering_type: str, numbers: Iterator[int]) -> str:
    """Write a value of that type as an export does."""

    def leaf(tag: str, value: str) -> str:
        return f'<{tag} id="{next(numbers)}" fmt="{value}">{value}</{tag}>'

    def compound(tag: str, fmt: str, *inside: str) -> str:
        return f'<{tag} id="{next(numbers)}"{fmt and f" fmt={fmt!r}"}>{"".join(inside)}</{tag}>'

    frame = '<frame name="main" addr="0x10"/>'
    process = compound("process", "App (7)", leaf("pid", "7"))
    match engineering_type:
        case "process":
            return process
        case "thread":
            return compound("thread", "Main 0x9", leaf("tid", "9"), process)
        case "backtrace" | "text-backtrace":
            return compound(engineering_type, "", frame)
        case "tagged-backtrace":
            return compound("tagged-backtrace", "main", compound("backtrace", "", frame))
        case "any":
            return leaf("uint64", "7")
        case _:
            number = FORMS.get(engineering_type, Form.TEXT) is not Form.TEXT
            return leaf(engineering_type, "7" if number or engineering_type in PRESUMED else "x")


def row(columns: str) -> str:
    numbers = itertools.count(1)
    cells = (cell(one.split(":")[1], numbers) for one in columns.split())
    return f"<row>{''.join(cells)}</row>"


def read(folder: Path, schema: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    tables = Tables(folder, frozenset({7}))
    return tables[KNOWN[schema][0].name], tables.warnings


@pytest.mark.parametrize("schema", COLUMNS)
@pytest.mark.parametrize("rows", [0, 1])
def test_an_important_schema_is_read_without_a_word(schema: str, rows: int, export: Export) -> None:
    folder = export(COLUMNS[schema], *[row(COLUMNS[schema])] * rows, schema=schema).parent
    frame, warnings = read(folder, schema)
    assert warnings == ()
    assert len(frame) == rows
    for column in KNOWN[schema][0].columns:
        dtype = "int64" if column.kind is Kind.TIME else dtype_of(column.kind)
        assert frame[column.name].dtype == dtype, column.name
        if rows and not column.since and column.kind is not Kind.STACK:
            assert not pd.isna(frame[column.name].iloc[0]), column.name


FACTS = Path(__file__).parents[3] / "shared" / "facts"


@pytest.mark.parametrize("file", ["schemas-27.2.tsv", "schemas-26.0-from-trace-bundle.tsv"])
def test_every_listed_schema_of_a_table_is_read_without_a_word(file: str, export: Export) -> None:
    if not (FACTS / file).is_file():
        pytest.skip(f"no list of schemas {file}")
    with (FACTS / file).open() as lines:
        listed = [*csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    offenders: dict[str, tuple[str, ...]] = {}
    for schema, _, text, *version in listed:
        if schema in KNOWN and not version[-1].startswith("Xcode"):
            columns = " ".join(
                ":".join(column.split(":")[:2]).removesuffix("(27.2)").replace("?", "string")
                for column in text.split()
            )
            folder = export(columns, row(columns), schema=schema).parent
            frame, warnings = read(folder, schema)
            if warnings or len(frame) != 1:
                offenders[schema] = warnings
    assert offenders == {}
    assert sum(schema in KNOWN for schema, *_ in listed) >= 80


@pytest.mark.corpus
def test_every_real_export_of_a_known_schema_is_read_without_a_word(corpus: Path) -> None:
    read_so_far: set[str] = set()
    for path in sorted(corpus.rglob("*.xml")):
        if ".trace" in str(path.relative_to(corpus)) or identify(path).kind != "tables":
            continue
        for name in identify(path).schemas:
            if name not in KNOWN:
                continue
            schema, source = KNOWN[name]
            flat = read_table(path, name)
            table, warnings = normalize(flat, schema, source, frozenset())
            assert warnings == [], path
            assert list(table) == [column.name for column in schema.columns]
            read_so_far.add(name)
    assert len(read_so_far) >= 45


def test_no_schema_of_an_export_is_read_by_two_tables() -> None:
    sources = [source.schema for schema in SCHEMAS.values() for source in schema.sources]
    assert len(sources) == len(set(sources))


def test_where_a_table_comes_from_is_said_through_joins() -> None:
    assert origins(SCHEMAS["gpu_states"]) == "metal-gpu-state-intervals"
    assert origins(SCHEMAS["gpu_jobs"]) == "metal-gpu-intervals or host-intervals"
    assert origins(SCHEMAS["shader_runs"]) == (
        "metal-shader-profiler-intervals with metal-shader-profiler-shader-list"
    )


VALUES = frozenset({"gpu-counter-value", "gpu-counter-info", "metal-gpu-info"})


@pytest.mark.parametrize(
    ("table", "there", "expected"),
    [
        ("gpu_states", {"metal-gpu-state-intervals", "tick"}, {"metal-gpu-state-intervals"}),
        ("gpu_states", {"tick"}, set[str]()),
        ("gpu_counters", {*VALUES, "metal-gpu-counter-intervals"}, {"metal-gpu-counter-intervals"}),
        ("gpu_counters", VALUES, VALUES),
        ("gpu_counters", {"gpu-counter-value"}, set[str]()),
        ("phases", {"os-signpost"}, {"os-signpost"}),
        ("phases", {"os-signpost", "os-signpost-interval"}, {"os-signpost-interval"}),
        (
            "gpu_jobs",
            {"metal-gpu-intervals", "metal-object-label", "tick"},
            {"metal-gpu-intervals", "metal-object-label"},
        ),
        ("gpu_jobs", {"metal-object-label"}, set[str]()),
    ],
)
def test_what_a_table_is_read_from_depends_on_what_is_there(
    table: str, there: set[str], expected: set[str]
) -> None:
    assert needed_schemas([table], frozenset(there)) == expected


COMMON = 'common = "start | time | start | when it began"\n'


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('meaning = "m"', "missing required field `columns`"),
        ('sense = "m"\ncolumns = "start"', "unknown field `sense`"),
        ('meaning = "m"\ncolumns = "begin"', "things: 'begin' is no common column"),
        ('meaning = "m"\ncolumns = "n | integer | n"', "things: not a name, a kind, a mnemonic"),
        ('meaning = "m"\ncolumns = "n | int | n | n"', "things: 'int' is not a valid Kind"),
        ('meaning = "m"\ncolumns = "n | text | n | n | odd"', "things: 'odd' is said of the col"),
        ('meaning = "m"\ncolumns = "start"\njoin = "no"', "things: .* has no attribute 'no'"),
        ('meaning = "m"\ncolumns = "start"\nsources = [{}]', "things: a source is either of"),
    ],
)
def test_a_wrong_entry_is_named(entry: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_schemas(f"{COMMON}[tables.things]\n{entry}\n")
