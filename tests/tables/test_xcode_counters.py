"""Counters that Xcode exported: keys are checked, doubled names proven, suspect cells marked."""

from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.xcode_counters import is_xcode_counters, read_xcode_counters

HEAD = "Index,Encoder FunctionIndex,CommandBuffer Label,Encoder Label,,"
COUNTERS = "Kernel Occupancy,Bytes Read From Device Memory,Partial Render Count,Kernel Occupancy"
TAB = "Thumbnails\tName\tExecution Cost\tKernel Occupancy\tBytes Read From Device Memory\t"
ROWS = ("1,546,CB 0 0xa,Enc 0 0xb,,12.90,2312832.00,0.00,12.90", "2,9,CB 1,Enc 1,,0.50,512,1,0.50")
COSTS = ("-\t546 Enc 0 0xb\t3.520%\t12.90%\t2.21 MiB\t", "-\t9 Enc 1\t96.48%\t0.500%\t512 B\t")
BYTES = "Bytes Read From Device Memory"


def csv_of(folder: Path, *rows: str, counters: str = COUNTERS) -> Path:
    path = folder / "counters.csv"
    path.write_text("\n".join([HEAD + counters, *rows]) + "\n", encoding="utf-8-sig")
    return path


def tab_of(folder: Path, *rows: str, head: str = TAB) -> Path:
    path = folder / "tab.txt"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def cells(frame: pd.DataFrame, place: int) -> dict[str, tuple[float, str]]:
    """Return the counters of an encoder: values, and their units."""
    rows = frame[frame["place"] == place]
    pairs = zip(rows["value"].round(9), rows["unit"], strict=True)
    return dict(zip(rows["counter"], pairs, strict=True))


def test_shares_and_bytes_are_numbers_in_the_order_of_the_capture(tmp_path: Path) -> None:
    frame = read_xcode_counters([csv_of(tmp_path, *ROWS)])
    assert frame.drop_duplicates("place")["function"].tolist() == [9, 546]
    assert frame.drop_duplicates("place")["command_buffer"].tolist() == ["CB 1", "CB 0 0xa"]
    assert cells(frame, 2) == {
        "Kernel Occupancy": (0.129, "ratio"),
        BYTES: (2_312_832, "bytes"),
        "Partial Render Count": (0, ""),
    }
    assert cells(frame, 1)["Partial Render Count"] == (1, "")


def test_a_tab_adds_costs_and_the_finer_of_two_roundings_counts(tmp_path: Path) -> None:
    frame = read_xcode_counters([tab_of(tmp_path, *COSTS), csv_of(tmp_path, *ROWS)])
    assert cells(frame, 2)["Execution Cost"] == (0.0352, "ratio")
    assert cells(frame, 2)[BYTES] == (2_312_832, "bytes")
    assert frame["command_buffer"].notna().all()
    alone = read_xcode_counters([tab_of(tmp_path, *COSTS)])
    assert cells(alone, 2)[BYTES] == (2.21 * 2**20, "bytes")
    assert alone["command_buffer"].isna().all()


def test_the_unit_of_a_tab_holds_for_a_counter_whose_name_tells_none(tmp_path: Path) -> None:
    table = csv_of(tmp_path, "1,9,CB,Enc,,25.00", counters="Tiles Touched")
    head = "Thumbnails\tName\tTiles Touched\tRate X"
    frame = read_xcode_counters([table, tab_of(tmp_path, "-\t9 Enc\t25.0%\t3.5 GB/s", head=head)])
    assert cells(frame, 1) == {"Tiles Touched": (0.25, "ratio"), "Rate X": (3.5, "GB/s")}
    with pytest.raises(InputError, match="another Tiles Touched"):
        read_xcode_counters([table, tab_of(tmp_path, "-\t9 Enc\t25.4%\t3.5 GB/s", head=head)])


def test_a_row_that_does_not_fit_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for rows, wrong in (
        (("1,546,CB,Enc,,12.90,1,0,12.91",), "Line 2 of .* has two values for Kernel Occupancy"),
        (("1,546,CB,Enc,,12.90,1,0",), "Line 2 of .* has 8 of 9 cells"),
        (("1,x,CB,Enc,,12.90,1,0,12.90",), "no number of its encoder: 'x'"),
        (("1,546,CB,Enc,,high,1,0,12.90",), "has 'high' for Kernel Occupancy"),
        (("1,546,CB,Enc,,12.90%,1,0,12.90",), "has '12.90%' for Kernel Occupancy"),
        ((ROWS[0], ROWS[0]), "an encoder twice"),
        ((), "no encoder"),
    ):
        with subtests.test(wrong), pytest.raises(InputError, match=wrong):
            read_xcode_counters([csv_of(tmp_path, *rows)])


def test_files_of_two_captures_are_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for old, new, wrong in (
        (COSTS[1], "", "other encoders"),
        ("Enc 0", "Enc 7", "another label of encoder 546, 'Enc 7 0xb'"),
        ("12.90%", "12.91%", "another Kernel Occupancy"),
        ("2.21 MiB", "2.22 MiB", "another Bytes Read"),
    ):
        with subtests.test(wrong):
            costs = (row.replace(old, new) for row in COSTS)
            with pytest.raises(InputError, match=wrong):
                read_xcode_counters([csv_of(tmp_path, *ROWS), tab_of(tmp_path, *costs)])


def test_cells_that_other_cells_prove_wrong_are_suspect(tmp_path: Path) -> None:
    never = ["Kernel ALU Performance", "Kernel Texture Cache Miss Rate"]
    names = ",".join(["Kernel Invocations", "Kernel ALU Instructions", *never])
    rows = ("1,1,CB,A,,0,5,5,0", "2,2,CB,B,,7,9,9,0", "3,3,CB,C,,0,0,0,0")
    frame = read_xcode_counters([csv_of(tmp_path, *rows, counters=names)])
    doubted = frame.dropna(subset=["suspect"]).groupby("place")["counter"].agg(list).to_dict()
    assert doubted == {1: ["Kernel Invocations", *never], 2: never, 3: never}
    honest = read_xcode_counters([csv_of(tmp_path, "1,1,CB,A,,4,5,6,0.1", counters=names)])
    assert honest["suspect"].isna().all()


def test_other_files_are_not_taken_for_counters(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Index,Name\n")
    (tmp_path / "b.xml").write_text(f"{HEAD}\n")
    assert not any(map(is_xcode_counters, tmp_path.iterdir()))
    assert is_xcode_counters(csv_of(tmp_path))
    assert is_xcode_counters(tab_of(tmp_path))


@pytest.mark.corpus
def test_a_real_export_is_read_whole(corpus: Path) -> None:
    files = filter(is_xcode_counters, (corpus / "xcode-counters").iterdir())
    frame = read_xcode_counters(sorted(files))
    assert (frame["place"].nunique(), frame["counter"].nunique()) == (23, 227)
    costs = frame.loc[frame["counter"] == "Execution Cost", "value"]
    assert costs.sum() == pytest.approx(1, abs=1e-3)
    assert frame.dropna(subset=["suspect"]).groupby("counter").size().to_dict() == {
        "Kernel ALU Performance": 23,
        "Kernel Invocations": 2,
        "Kernel Texture Cache Miss Rate": 23,
    }
