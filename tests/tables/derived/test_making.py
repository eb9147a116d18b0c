"""A join is given the tables that its parameters name."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.joins import Joined, first_with_rows, made
from tracekit.tables.schema import Column, Kind, Schema
from tracekit.tables.schemas import SCHEMAS
from tracekit.tables.tables import MissingTableError, Tables

Export = Callable[..., Path]
START, *_, CLOCK = SCHEMAS["steps"].columns
THINGS = Schema("things", "Things.", (), (START, Column("n", "", Kind.INTEGER, "n"), CLOCK))


def join(own: pd.DataFrame, more: pd.DataFrame | None) -> Joined:
    columns = {"start": own["start"]}
    return Joined(columns if more is None else columns | {"n": more["n"]}, ("it is so",))


class Shelf(Mapping[str, pd.DataFrame]):
    """Tables of which one cannot be read."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name == "more":
            raise InputError("more.xml is no export.")
        return pd.DataFrame({"start": [1, 2]})

    def __iter__(self) -> Iterator[str]:
        yield from ("own", "more")

    def __len__(self) -> int:
        return 2


def test_a_join_does_without_what_cannot_be_read_and_says_so() -> None:
    frame, warnings = made(THINGS, join, Shelf())
    assert frame["n"].isna().tolist() == [True, True]
    assert warnings == ["things does without more: more.xml is no export.", "things: it is so"]


def rows(count: int, *warnings: str) -> Callable[[], tuple[pd.DataFrame, list[str]]]:
    return lambda: (pd.DataFrame({"n": range(count)}), list(warnings))


def broken() -> tuple[pd.DataFrame, list[str]]:
    raise InputError("a.xml is no export.")


def test_the_first_way_that_gives_rows_counts() -> None:
    frame, warnings = first_with_rows("t", [rows(0, "none"), rows(2, "two"), rows(3, "three")])
    assert len(frame) == 2
    assert warnings == ["none", "two"]
    frame, warnings = first_with_rows("t", [rows(0, "none"), rows(0)])
    assert len(frame) == 0
    assert warnings == ["none"]


def test_a_way_that_fails_is_an_error_only_if_there_is_no_other() -> None:
    frame, warnings = first_with_rows("t", [broken, rows(1)])
    assert len(frame) == 1
    assert warnings == ["t: a.xml is no export."]
    frame, warnings = first_with_rows("t", [rows(0), broken])
    assert len(frame) == 0
    assert warnings == ["t: a.xml is no export."]
    for ways in ([broken], [broken, broken]):
        with pytest.raises(InputError, match=r"a\.xml is no export"):
            first_with_rows("t", ways)


VALUES = (
    "timestamp:event-time counter-id:uint32 value:fixed-decimal accelerator-id:uint64 "
    "sample-index:uint32 ring-buffer-index:uint32"
)
INFOS = (
    "timestamp:event-time counter-id:uint32 name:gpu-counter-name max-value:uint64 "
    "accelerator-id:uint64 description:string group-index:uint32 type:string "
    "ring-buffer-count:uint32 require-weighted-accumulation:boolean sample-interval:uint32"
)
INTERVALS = (
    "start:start-time duration:duration counter-id:uint32 name:gpu-counter-name "
    "label:formatted-label value:fixed-decimal percent-value:percent color:uint32 "
    "gpu:metal-device-name group-index:uint32 is-percentage:boolean ring-buffer-index:uint32"
)


def cells(columns: str, texts: str) -> str:
    types = [one.split(":")[1] for one in columns.split()]
    pairs = zip(types, texts.split(), strict=True)
    return f"<row>{''.join(f'<{kind}>{text}</{kind}>' for kind, text in pairs)}</row>"


def test_counters_that_exist_only_as_values_are_named(export: Export) -> None:
    value = cells(VALUES, "5 3 26.250000000 1848 0 0")
    info = cells(INFOS, "0 3 Occupancy 100 1848 x 1 Percentage 1 0 0")
    export(INTERVALS, schema="metal-gpu-counter-intervals", name="intervals.xml")
    export(VALUES, value, schema="gpu-counter-value", name="values.xml")
    folder = export(INFOS, info, schema="gpu-counter-info", name="infos.xml").parent
    tables = Tables(folder, frozenset())
    assert {"gpu_counters", "gpu_counters_wide", "gpu_counter_summaries"} <= set(tables)
    assert tables["gpu_counters"]["counter"].tolist() == ["Occupancy"]
    assert tables["gpu_counters_wide"]["Occupancy"].tolist() == [26.25]
    assert tables["gpu_counter_summaries"]["unit"].tolist() == ["percent"]
    assert tables.warnings == ()
    (folder / "infos.xml").unlink()
    assert len(Tables(folder, frozenset())["gpu_counters"]) == 0
    (folder / "intervals.xml").unlink()
    with pytest.raises(MissingTableError, match="no export of metal-gpu-counter-intervals"):
        Tables(folder, frozenset())["gpu_counters"]


def test_the_counters_of_two_profiles_are_one_table(
    document: Callable[..., Path], node: Callable[..., str], export: Export
) -> None:
    one = cells(INFOS, "0 3 Occupancy 100 1848 x 1 Percentage 1 0 0")
    two = cells(INFOS, "0 58 Bandwidth 100 1848 x 1 Value 1 0 0")
    nodes = (
        node(INFOS, one, schema="gpu-counter-info", table=4),
        node(INFOS, one, two, schema="gpu-counter-info", table=9),
    )
    folder = document(*nodes, name="infos.xml").parent
    value = cells(VALUES, "5 58 2.500000000 1848 0 0")
    export(VALUES, value, schema="gpu-counter-value", name="values.xml")
    tables = Tables(folder, frozenset())
    assert tables["gpu_counter_infos"]["name"].tolist() == ["Occupancy", "Occupancy", "Bandwidth"]
    assert tables["gpu_counters"]["counter"].tolist() == ["Bandwidth"]
    assert tables.warnings == ()


PHASES = "start:start-time duration:duration name:string"
SIGNPOSTS = (
    "start:start-time duration:duration layout-qualifier:layout-id name:string category:category "
    "subsystem:subsystem identifier:os-signpost-identifier process:process end-process:process "
    "start-thread:thread end-thread:thread start-message:os-log-metadata "
    "end-message:os-log-metadata start-backtrace:text-backtrace end-backtrace:text-backtrace "
    "start-emit-location:return-location end-emit-location:return-location "
    "signature:os-log-metadata"
)
SIGNPOST = (
    '<row><start-time id="1">{start}</start-time><duration id="2">5</duration><sentinel/>'
    '<string id="3">steady</string><category id="4">phases</category>'
    '<subsystem id="5">{subsystem}</subsystem>'
    '<os-signpost-identifier id="6">1</os-signpost-identifier>'
    '<process id="7" fmt="App (7)"><pid id="8">7</pid></process>' + "<sentinel/>" * 10 + "</row>"
)


def test_a_program_s_own_signposts_are_its_phases_before_the_worker_s_marks(
    export: Export,
) -> None:
    marks = cells(PHASES, "100 9 steady")
    folder = export(PHASES, marks, schema="host-phases", name="phases.xml").parent
    for subsystem, expected in (("tracekit", [200]), ("com.example", [100])):
        row = SIGNPOST.format(start=200, subsystem=subsystem)
        export(SIGNPOSTS, row, schema="os-signpost-interval", name="signposts.xml")
        tables = Tables(folder, frozenset({7}))
        assert tables["phases"]["start"].tolist() == expected
        assert tables.warnings == ()
    assert Tables(folder, frozenset({8}))["phases"]["clock"].tolist() == ["host"]
