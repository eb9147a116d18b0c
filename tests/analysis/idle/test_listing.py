"""The table `gaps` of queries: a row for each gap, with its causes and its neighbours; ms."""

import pandas as pd

from analysed import MS, completed, given, make_named_table, rows, work
from tracekit.analysis.idle.listing import GAP_COLUMNS

KERNELS = ["Gemm   ( python3 (7) )  0xa1", "Norm   ( python3 (7) )  0xa2", None]


def list_rows(frame: pd.DataFrame, **tables: pd.DataFrame) -> pd.DataFrame:
    phases = make_named_table(("steady", 0, 40))
    return given(gpu_intervals=frame, phases=phases, **tables)["gap_list"]


def test_a_gap_is_one_row_with_its_causes_the_host_and_the_kernels_around_it() -> None:
    frame = work([(0, 4, 0, 1), (20, 4, 7, 2), (24, 16, 8, 3)])
    frame["label"] = pd.array(KERNELS, dtype="string")
    tables = {
        "encoders": rows((8, 2.5, 2)),
        "completions": completed((6, 1), (25, 2)),
        "driver_intervals": rows((14, 3, 0)),
    }
    table = list_rows(frame, **tables)
    [gap] = table.to_dict("records")
    assert (gap["start"], gap["duration"], gap["device"]) == (4 * MS, 16 * MS, 0)
    # 4 way-back 6 host 8 encoding 10.5 host 13 late-start 14 driver 17 late-start 20
    assert (gap["cause"], gap["share"]) == ("host", 4.5 / 16)
    assert (gap["second_cause"], gap["second_share"]) == ("late-start", 4 / 16)
    assert (gap["before"], gap["after"]) == ("Gemm", "Norm")
    assert gap["host"] == "driver"
    assert list(table) == list(GAP_COLUMNS)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == GAP_COLUMNS


def test_the_edges_of_a_recording_have_no_neighbour_and_unknown_facts_are_null() -> None:
    frame = work([(10, 4, 0, 1), (20, 4, 6, 1)])
    frame["label"] = pd.array(["Gemm", None], dtype="string")
    table = list_rows(frame)
    assert table["start"].tolist() == [0, 14 * MS, 24 * MS]
    assert table["before"].isna().tolist() == [True, False, False]
    assert table["after"].isna().tolist() == [False, False, True]
    assert table["before"].dropna().tolist() == ["Gemm", "unlabelled"]
    assert table["host"].isna().all()


def test_work_without_a_gap_has_an_empty_table_of_the_same_columns() -> None:
    frame = work([(0, 40, 0, 1)])
    frame["label"] = pd.array(["Gemm"], dtype="string")
    table = list_rows(frame)
    assert table.empty
    assert {name: str(kind) for name, kind in table.dtypes.items()} == GAP_COLUMNS
