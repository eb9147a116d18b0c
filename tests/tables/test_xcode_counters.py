"""Counters that Xcode exported: keys are checked, doubled names proven, suspect cells marked."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.xcode_counters import is_counters, read_counters

EXACT = (
    "Index,Encoder Index,CommandBuffer Index,FunctionIndex,CommandBuffer Label,Encoder Label,"
    "Marker,"
)
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


def exact_of(folder: Path, counters: str, *rows: str) -> Path:
    path = folder / "exact.csv"
    path.write_text("\n".join([EXACT + counters, *rows]) + "\n", encoding="utf-8")
    return path


def rows_of(paths: Sequence[Path]) -> pd.DataFrame:
    return read_counters(paths).rows


def cells(frame: pd.DataFrame, place: int) -> dict[str, tuple[float, str]]:
    """Return the counters of an encoder: values, and their units."""
    rows = frame[frame["place"] == place]
    pairs = zip(rows["value"].round(9), rows["unit"], strict=True)
    return dict(zip(rows["counter"], pairs, strict=True))


def test_shares_and_bytes_are_numbers_in_the_order_of_the_capture(tmp_path: Path) -> None:
    frame = rows_of([csv_of(tmp_path, *ROWS)])
    assert frame.drop_duplicates("place")["function"].tolist() == [9, 546]
    assert frame.drop_duplicates("place")["command_buffer"].tolist() == ["CB 1", "CB 0 0xa"]
    assert cells(frame, 2) == {
        "Kernel Occupancy": (0.129, "ratio"),
        BYTES: (2_312_832, "bytes"),
        "Partial Render Count": (0, ""),
    }
    assert cells(frame, 1)["Partial Render Count"] == (1, "")


def test_a_tab_adds_costs_and_the_finer_of_two_roundings_counts(tmp_path: Path) -> None:
    frame = rows_of([tab_of(tmp_path, *COSTS), csv_of(tmp_path, *ROWS)])
    assert cells(frame, 2)["Execution Cost"] == (0.0352, "ratio")
    assert cells(frame, 2)[BYTES] == (2_312_832, "bytes")
    assert frame["command_buffer"].notna().all()
    alone = rows_of([tab_of(tmp_path, *COSTS)])
    assert cells(alone, 2)[BYTES] == (2.21 * 2**20, "bytes")
    assert alone["command_buffer"].isna().all()


def test_the_unit_of_a_tab_holds_for_a_counter_whose_name_tells_none(tmp_path: Path) -> None:
    table = csv_of(tmp_path, "1,9,CB,Enc,,25.00", counters="Tiles Touched")
    head = "Thumbnails\tName\tTiles Touched\tRate X"
    frame = rows_of([table, tab_of(tmp_path, "-\t9 Enc\t25.0%\t3.5 GB/s", head=head)])
    assert cells(frame, 1) == {"Tiles Touched": (0.25, "ratio"), "Rate X": (3.5, "GB/s")}
    with pytest.raises(InputError, match="another Tiles Touched"):
        read_counters([table, tab_of(tmp_path, "-\t9 Enc\t25.4%\t3.5 GB/s", head=head)])


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
            read_counters([csv_of(tmp_path, *rows)])


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
                read_counters([csv_of(tmp_path, *ROWS), tab_of(tmp_path, *costs)])


def test_cells_that_other_cells_prove_wrong_are_suspect(tmp_path: Path) -> None:
    never = ["Kernel ALU Performance", "Kernel Texture Cache Miss Rate"]
    names = ",".join(["Kernel Invocations", "Kernel ALU Instructions", *never])
    rows = ("1,1,CB,A,,0,5,5,0", "2,2,CB,B,,7,9,9,0", "3,3,CB,C,,0,0,0,0")
    frame = rows_of([csv_of(tmp_path, *rows, counters=names)])
    doubted = frame.dropna(subset=["suspect"]).groupby("place")["counter"].agg(list).to_dict()
    assert doubted == {1: ["Kernel Invocations", *never], 2: never, 3: never}
    honest = rows_of([csv_of(tmp_path, "1,1,CB,A,,4,5,6,0.1", counters=names)])
    assert honest["suspect"].isna().all()


def test_the_form_with_all_digits_has_units_in_its_cells_and_gpu_time(tmp_path: Path) -> None:
    counters = f"GPU Time,Kernel Occupancy,{BYTES},Kernel ALU Performance,Kernel Occupancy"
    rows = ("0,0,0,7,CB,Enc 0,,2.5e4,75.77%,1050240,45.65,75.77%", "1,1,0,9,CB,Enc 1,,75,5%,0,0,5%")
    read = read_counters([exact_of(tmp_path, counters, *rows)])
    assert read.remarks == ()
    assert read.rows.drop_duplicates("place")["function"].tolist() == [7, 9]
    assert read.rows["encoder"].unique().tolist() == ["Enc 0", "Enc 1"]
    assert read.rows["command_buffer"].unique().tolist() == ["CB"]
    assert cells(read.rows, 1) == {
        "GPU Time": (25_000, "ns"),
        "Kernel Occupancy": (0.7577, "ratio"),
        BYTES: (1_050_240, "bytes"),
        "Kernel ALU Performance": (45.65, ""),
    }


def test_the_form_with_all_digits_is_read_with_its_tabs(tmp_path: Path) -> None:
    table = exact_of(tmp_path, "Kernel Occupancy", "0,0,0,9,CB,Enc 1,,0.5012%")
    head = "Thumbnails\tName\tExecution Cost\tKernel Occupancy"
    frame = rows_of([tab_of(tmp_path, "-\t9 Enc 1\t100%\t0.50%", head=head), table])
    expected = {"Kernel Occupancy": (0.005012, "ratio"), "Execution Cost": (1.0, "ratio")}
    assert cells(frame, 1) == expected


def test_rows_of_one_encoder_and_markers_are_remarked(tmp_path: Path) -> None:
    rows = ("0,0,0,7,CB,Enc,warm,1", "1,0,0,9,CB,Enc,,2")
    read = read_counters([exact_of(tmp_path, "GPU Time", *rows)])
    encoder_remark, markers = read.remarks
    assert encoder_remark.startswith("Each of the 2 rows of exact.csv is listed as an encoder")
    assert markers == "The markers of exact.csv, in 1 of 2 rows, are not kept."


def test_negative_values_and_wrong_bytes_are_suspect(tmp_path: Path) -> None:
    counters = "Vertex Shader Time,Pixel Write Stall,Buffer L1 Bytes Read,Buffer L1 Bytes Written"
    frame = rows_of([exact_of(tmp_path, counters, "0,0,0,7,CB,Enc,,-1.00%,0.00%,262656,0")])
    assert frame.dropna(subset=["suspect"]).set_index("counter")["suspect"].to_dict() == {
        "Vertex Shader Time": "negative, which no share, count or time is",
        "Buffer L1 Bytes Read": "not bytes: in a capture whose sizes are known it was a quarter "
        "of them",
    }


@pytest.mark.parametrize(("time", "is_doubted"), [("25320.8", False), ("25.3208", True)])
def test_a_gpu_time_in_another_unit_is_suspect(tmp_path: Path, time: str, is_doubted: bool) -> None:
    # relu of an M2: 1,051,584 bytes at 43.07 GB/s take 24.4 µs
    names = f"GPU Time,Device Memory Bandwidth,{BYTES},Bytes Written To Device Memory"
    frame = rows_of([exact_of(tmp_path, names, f"0,0,0,7,CB,Enc,,{time},43.07,1050240,1344")])
    doubted = frame.dropna(subset=["suspect"])["counter"].tolist()
    assert doubted == ["GPU Time"] * is_doubted


def test_a_share_without_a_percent_sign_is_refused_in_the_form_that_has_them(
    tmp_path: Path,
) -> None:
    path = exact_of(tmp_path, "Kernel Occupancy", "0,0,0,7,CB,Enc,,75.77")
    with pytest.raises(InputError, match=r"Line 2 of .* without a percent sign"):
        read_counters([path])


def test_files_are_recognized_by_their_beginning_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Index,Name\n")
    (tmp_path / "b.csv").write_text(f"{HEAD[:-2]}\n")
    (tmp_path / "c.csv").write_text(HEAD.replace(",", ";"))
    (tmp_path / "d").mkdir()
    (tmp_path / "e").write_bytes(bytes(range(256)) * 600)
    (tmp_path / "f").write_bytes(b"\xff\xfe\r\0,\0\x00\xd8")
    assert not any(map(is_counters, tmp_path.iterdir()))
    assert is_counters(csv_of(tmp_path))
    assert is_counters(tab_of(tmp_path))
    assert is_counters(exact_of(tmp_path, "GPU Time").rename(tmp_path / "Counters"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings_with_a_mark_and_line_ends_of_windows_are_read(
    tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "saved.csv"
    text = "\r\n".join([f"{EXACT}GPU Time", "0,0,0,7,CB,Añadir,,5"])
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path.write_bytes(f"{mark}{text}\r\n".encode(encoding))
    frame = rows_of([path])
    assert frame[["encoder", "value"]].to_numpy().tolist() == [["Añadir", 5.0]]


def test_memory_that_contradicts_the_caches_is_suspect(tmp_path: Path) -> None:
    names = (
        "Buffer L1 Read Bandwidth,Buffer L1 Miss Rate,Last Level Cache Bandwidth,"
        "Last Level Cache Miss Rate,Device Memory Bandwidth"
    )
    rows = (
        "1,1,CB,unseen by the last level,,157.17,80.23,0.01,100.00,0.02",
        "2,2,CB,unseen by memory,,155.80,80.18,228.23,96.29,0.20",
        "3,3,CB,seen by both,,155.48,77.59,234.09,96.27,225.88",
        "4,4,CB,six adders of 1024 threads,,1.04,66.67,87.93,74.73,12.00",
    )
    frame = rows_of([csv_of(tmp_path, *rows, counters=names)])
    doubted = frame.dropna(subset=["suspect"]).groupby("place")["counter"].agg(list).to_dict()
    last_level = ["Last Level Cache Bandwidth", "Last Level Cache Miss Rate"]
    assert doubted == {
        1: [*last_level, "Device Memory Bandwidth"],
        2: ["Device Memory Bandwidth"],
    }


@pytest.mark.corpus
def test_a_real_export_is_read_whole(corpus: Path) -> None:
    files = filter(is_counters, (corpus / "xcode-counters").iterdir())
    frame = rows_of(sorted(files))
    assert (frame["place"].nunique(), frame["counter"].nunique()) == (23, 227)
    costs = frame.loc[frame["counter"] == "Execution Cost", "value"]
    assert costs.sum() == pytest.approx(1, abs=1e-3)
    assert frame.dropna(subset=["suspect"]).groupby("counter").size().to_dict() == {
        "Kernel ALU Performance": 23,
        "Kernel Invocations": 2,
        "Kernel Texture Cache Miss Rate": 23,
        # 126 GB/s missed L1, and the last-level cache saw 0.01; or it missed 200, and memory saw 1.
        **dict.fromkeys(("Device Memory Bandwidth", "GPU Read Bandwidth"), 17),
        **dict.fromkeys(("GPU Write Bandwidth", "Bytes Read From Device Memory"), 17),
        "Bytes Written To Device Memory": 17,
        **dict.fromkeys(("Last Level Cache Bandwidth", "Last Level Cache Bytes Read"), 12),
        **dict.fromkeys(("Last Level Cache Bytes Written", "Last Level Cache Miss Rate"), 12),
        **dict.fromkeys(("Last Level Cache Limiter", "Last Level Cache Utilization"), 12),
    }


@pytest.mark.corpus
def test_a_real_export_with_all_digits_is_read_whole(corpus: Path) -> None:
    read = read_counters([corpus / "Lazarus-931+MetalBench" / "relu.csv"])
    counter_cells = cells(read.rows, 1)
    assert (read.remarks, len(counter_cells)) == ((), 206)
    assert counter_cells["Kernel Invocations"] == (65_536, "")
    assert counter_cells["Kernel Occupancy"] == (0.7577, "ratio")
    assert counter_cells["GPU Time"][1] == "ns"
    doubted = read.rows.dropna(subset=["suspect"])["counter"].tolist()
    assert doubted == [
        "Buffer L1 Bytes Read",
        "Buffer L1 Bytes Written",
        "Vertex Shader Time",
        "Fragment Shader Time",
        "Pixels Rasterized per FS Invocation",
        "Pixel Write Stall",
    ]
