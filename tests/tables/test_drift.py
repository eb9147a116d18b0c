"""What readers remark on exports that are not as they should be."""

from collections.abc import Callable
from pathlib import Path

from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.tables import Tables

Export = Callable[..., Path]
HEAT = "start:start-time duration:duration end:start-time thermal-state:thermal-state"
LABELS = " track-label:string is-induced:boolean narrative:narrative"
ROW = (
    '<row><start-time id="1">10</start-time><duration id="2">5</duration>'
    '<start-time id="3">15</start-time><thermal-state id="4">Fair</thermal-state>{rest}</row>'
)
REST = '<string id="5">Current</string><boolean id="6">0</boolean><narrative id="7">n</narrative>'
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


def test_what_was_remarked_is_kept_with_the_table(export: Export, tmp_path: Path) -> None:
    path = export(HEAT + LABELS, *[ROW.format(rest=REST)] * 2, schema=SCHEMA)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex("<row>") + 30], encoding="utf-8")
    found: list[tuple[Remark, ...]] = []
    for _ in range(2):
        tables = Tables(path.parent, frozenset(), cache=tmp_path / "kept")
        assert len(tables["thermal_states"]) == 1
        found.append(tables.remarks)
    assert found[0] == found[1]
    assert found[0][0].flaw is Flaw.DAMAGED
