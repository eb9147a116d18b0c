"""Frames into files, whole or not at all."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import RecordingError, UsageError
from tracekit.tables.convert import write_table


@pytest.fixture
def frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "start": pd.Series([1, -2], dtype="int64"),
            "id": pd.array([2**64 - 1, None], dtype="UInt64"),
            "plain": pd.Series([2**64 - 1, 0], dtype="uint64"),
            "latency": pd.array([None, 2**63 - 1], dtype="Int64"),
            "share": [0.142594111, None],
            "on": pd.array([True, None], dtype="boolean"),
            "label": pd.array(['a\u00a0µ "x",\ny', None], dtype="string"),
        }
    )
    return frame.set_axis([7, 3])


@pytest.mark.parametrize("suffix", [".parquet", ".PARQUET", ".feather"])
def test_every_value_and_dtype_comes_back(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new folder" / f"table{suffix}"
    write_table(frame, path)
    read = pd.read_feather(path) if suffix == ".feather" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(read, frame.reset_index(drop=True))
    assert read["id"].iloc[0] == 2**64 - 1


def test_csv_holds_every_value(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_table(frame, str(tmp_path / "table.csv"))
    text = (tmp_path / "table.csv").read_text()
    assert text == (
        "start,id,plain,latency,share,on,label\n"
        '1,18446744073709551615,18446744073709551615,,0.142594111,True,"a\u00a0µ ""x"",\ny"\n'
        "-2,,0,9223372036854775807,,,\n"
    )


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.parquet.gz", ".csv"])
def test_an_unknown_suffix_is_a_mistake_in_use(
    frame: pd.DataFrame, tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError, match="suffix") as caught:
        write_table(frame, tmp_path / name)
    assert ".parquet, .csv, .feather" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_readable_for_others_and_nothing_else_is_left(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    write_table(frame, tmp_path / "table.csv")
    write_table(frame, tmp_path / "table.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o644


def test_a_place_that_cannot_be_written_is_told_in_words(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot be written"):
        write_table(frame, tmp_path / "file" / "table.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(RecordingError, match="cannot be written: Is a directory"):
        write_table(frame, tmp_path / "folder.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.csv"]


FULL = """
import resource, sys
import pandas as pd
from tracekit.base.errors import RecordingError
from tracekit.tables import write_table
sys.dont_write_bytecode = True  # it would be cut off, too
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
frame = pd.DataFrame({"n": [str(n * n) for n in range(100_000)]})
try:
    write_table(frame, sys.argv[1])
except RecordingError as error:
    print(error)
"""


@pytest.mark.processes
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table{suffix}"
    path.write_bytes(b"before")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.strip() == f"{path} cannot be written: File too large."
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096
