"""Counters that Xcode exported: keys are checked, doubled names proven, suspect cells marked."""

from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.xcode_counters import is_xcode_counters, read_xcode_counters

HEAD = "Index,Encoder FunctionIndex,CommandBuffer Label,Encoder Label,"
COUNTERS = "Kernel Occupancy,Bytes Read From Device Memory,Partial Render Count,Kernel Occupancy"
TAB = "Thumbnails\tName\tExecution Cost\tKernel Occupancy\tBytes Read From Device Memory\t"


def csv_of(folder: Path, *rows: str, counters: str = COUNTERS) -> Path:
    path = folder / "counters.csv"
    path.write_text("\n".join([f"{HEAD},{counters}", *rows]) + "\n", encoding="utf-8-sig")
    return path


def tab_of(folder: Path, *rows: str, head: str = TAB) -> Path:
    path = folder / "tab.txt"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


ROWS = ("1,546,CB 0 0xa,Enc 0 0xb,,12.90,2312832.00,0.00,12.90", "2,9,CB 1,Enc 1,,0.50,512,1,0.50")
COSTS = ("-\t546 Enc 0 0xb\t3.520%\t12.90%\t2.21 MiB\t", "-\t9 Enc 1\t96.48%\t0.500%\t512 B\t")


def cell(frame: pd.DataFrame, place: int, counter: str) -> tuple[float, str]:
    [row] = frame[(frame["place"] == place) & (frame["counter"] == counter)].to_dict("records")
    return row["value"], row["unit"]


def test_shares_and_bytes_are_numbers_in_the_order_of_the_capture(tmp_path: Path) -> None:
    frame = read_xcode_counters([csv_of(tmp_path, *ROWS)])
    assert frame.drop_duplicates("place")["function"].tolist() == [9, 546]
    assert cell(frame, 2, "Kernel Occupancy") == (pytest.approx(0.129), "ratio")
    assert cell(frame, 2, "Bytes Read From Device Memory") == (2_312_832, "bytes")
    assert cell(frame, 1, "Partial Render Count") == (1, "")
    assert frame["command_buffer"].iloc[0] == "CB 1"


def test_a_tab_adds_costs_and_the_finer_of_two_roundings_counts(tmp_path: Path) -> None:
    frame = read_xcode_counters([tab_of(tmp_path, *COSTS), csv_of(tmp_path, *ROWS)])
    assert cell(frame, 2, "Execution Cost") == (pytest.approx(0.0352), "ratio")
    assert cell(frame, 2, "Bytes Read From Device Memory") == (2_312_832, "bytes")
    assert frame["command_buffer"].notna().all()
    alone = read_xcode_counters([tab_of(tmp_path, *COSTS)])
    assert cell(alone, 2, "Bytes Read From Device Memory") == (
        pytest.approx(2.21 * 2**20),
        "bytes",
    )
    assert alone["command_buffer"].isna().all()


def test_the_unit_of_a_tab_holds_for_a_counter_whose_name_tells_none(tmp_path: Path) -> None:
    table = csv_of(tmp_path, "1,9,CB,Enc,,25.00", counters="Tiles Touched")
    tab = tab_of(
        tmp_path, "-\t9 Enc\t25.0%\t3.5 GB/s", head="Thumbnails\tName\tTiles Touched\tRate X"
    )
    frame = read_xcode_counters([table, tab])
    assert cell(frame, 1, "Tiles Touched") == (pytest.approx(0.25), "ratio")
    assert cell(frame, 1, "Rate X") == (3.5, "GB/s")


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("1,546,CB,Enc,,12.90,1,0,12.91", "Line 2 of .* has two values for Kernel Occupancy"),
        ("1,546,CB,Enc,,12.90,1,0", "Line 2 of .* has 8 of 9 cells"),
        ("1,x,CB,Enc,,12.90,1,0,12.90", "no number of its encoder: 'x'"),
        ("1,546,CB,Enc,,high,1,0,12.90", "has 'high' for Kernel Occupancy"),
        ("1,546,CB,Enc,,12.90%,1,0,12.90", "has '12.90%' for Kernel Occupancy"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(tmp_path: Path, row: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read_xcode_counters([csv_of(tmp_path, row)])


def test_encoders_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an encoder twice"):
        read_xcode_counters([csv_of(tmp_path, ROWS[0], ROWS[0])])


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (COSTS[:1], "other encoders"),
        (
            (COSTS[0].replace("Enc 0", "Enc 7"), COSTS[1]),
            "another label of encoder 546, 'Enc 7 0xb'",
        ),
        ((COSTS[0].replace("12.90%", "12.91%"), COSTS[1]), "another Kernel Occupancy"),
        ((COSTS[0].replace("2.21 MiB", "2.22 MiB"), COSTS[1]), "another Bytes Read"),
    ],
)
def test_files_of_two_captures_are_refused(
    tmp_path: Path, rows: tuple[str, ...], wrong: str
) -> None:
    with pytest.raises(InputError, match=wrong):
        read_xcode_counters([csv_of(tmp_path, *ROWS), tab_of(tmp_path, *rows)])


def test_cells_that_other_cells_prove_wrong_are_suspect(tmp_path: Path) -> None:
    names = "Kernel Invocations,Kernel ALU Instructions,Kernel ALU Performance"
    names += ",Kernel Texture Cache Miss Rate"
    rows = ("1,1,CB,A,,0,5,5,0", "2,2,CB,B,,7,9,9,0", "3,3,CB,C,,0,0,0,0")
    frame = read_xcode_counters([csv_of(tmp_path, *rows, counters=names)])
    doubted = frame.dropna(subset=["suspect"])
    assert list(doubted[["place", "counter"]].itertuples(index=False, name=None)) == [
        (1, "Kernel Invocations"),
        *((1, name) for name in names.split(",")[2:]),
        *((2, name) for name in names.split(",")[2:]),
        *((3, name) for name in names.split(",")[2:]),
    ]
    honest = read_xcode_counters([csv_of(tmp_path, "1,1,CB,A,,4,5,6,0.1", counters=names)])
    assert honest["suspect"].isna().all()


def test_other_files_are_not_taken_for_counters(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Index,Name\n")
    (tmp_path / "b.xml").write_text(f"{HEAD}\n")
    assert not any(map(is_xcode_counters, tmp_path.iterdir()))
    assert is_xcode_counters(csv_of(tmp_path))
    assert is_xcode_counters(tab_of(tmp_path))
    with pytest.raises(InputError, match="no encoder"):
        read_xcode_counters([csv_of(tmp_path)])


@pytest.mark.corpus
def test_a_real_export_is_read_whole_and_a_changed_twin_is_refused(
    corpus: Path, tmp_path: Path
) -> None:
    folder = corpus / "xcode-counters"
    frame = read_xcode_counters(sorted(filter(is_xcode_counters, folder.iterdir())))
    assert (frame["place"].nunique(), frame["counter"].nunique()) == (23, 227)
    assert frame.loc[frame["counter"] == "Execution Cost", "value"].sum() == pytest.approx(
        1, abs=1e-3
    )
    assert frame.dropna(subset=["suspect"]).groupby("counter").size().to_dict() == {
        "Kernel ALU Performance": 23,
        "Kernel Invocations": 2,
        "Kernel Texture Cache Miss Rate": 23,
    }
    lines = (folder / "xcode-counters-export.csv").read_text("utf-8").splitlines()
    heads, cells = lines[0].split(","), lines[1].split(",")
    twin = [name.strip('"') for name in heads].index("Register L1 Read Accesses")
    cells[twin] = "9.99"
    changed = tmp_path / "changed.csv"
    changed.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
    with pytest.raises(InputError, match="two values for Register L1 Read Accesses"):
        read_xcode_counters([changed])
