"""What readers remark on exports that are not as they should be."""

from collections.abc import Callable
from pathlib import Path

from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.tables import Tables

Export = Callable[..., Path]
HEAT = "start:start-time duration:duration end:start-time thermal-state:thermal-state"
ROW = (
    '<row><start-time id="1">10</start-time><duration id="2">5</duration>'
    '<start-time id="3">15</start-time><thermal-state id="4">Fair</thermal-state>{rest}</row>'
)
SCHEMA = "device-thermal-state-intervals"


def remarks(path: Path, table: str) -> tuple[Remark, ...]:
    tables = Tables(path.parent, frozenset())
    assert tables.remarks == ()
    assert len(tables[table])
    assert tables.remarks == tables.remarks
    return tables.remarks


def test_columns_too_many_and_too_few_are_named_with_their_table(export: Export) -> None:
    path = export(
        HEAT + " track-label:string mood:string",
        ROW.format(rest='<string id="5">Current</string><string id="6">blue</string>'),
        schema=SCHEMA,
    )
    unknown, lacking = remarks(path, "thermal_states")
    assert unknown.flaw is Flaw.UNKNOWN
    assert unknown.columns == ("mood",)
    assert lacking == Remark(
        Flaw.LACKING,
        "thermal_states",
        SCHEMA,
        ("is-induced", "narrative"),
        f"{SCHEMA}: columns that the export lacks: is-induced, narrative",
    )


def test_a_file_with_nothing_in_it_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "metal-gpu-intervals.xml").touch()
    [remark] = Tables(tmp_path, frozenset()).remarks
    assert remark == Remark(Flaw.DAMAGED, "", "", (), "metal-gpu-intervals.xml is empty.")
