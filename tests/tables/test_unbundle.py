"""All tables of a bundle as files."""

from pathlib import Path

import pandas as pd
import pytest

from bundle_writer import Encoder, Run, write_bundle, write_runs
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import RecordingError
from tracekit.tables.convert import unbundle

TABLES = [ticks([2, 1]), intervals((0, 10, PYTHON), (40, 10, SERVER)), ticks([], {"frequency": 1})]


def names(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_every_table_becomes_a_file_of_its_name(tmp_path: Path, suffix: str) -> None:
    bundle = write_bundle(tmp_path / "x.trace", TABLES)
    written = unbundle(bundle, tmp_path / "out", suffix, lambda _: None)
    expected = [f"{name}{suffix}" for name in ("metal-gpu-intervals", "tick-2", "tick")]
    assert names(tmp_path / "out") == expected
    assert sorted(one.name for one in written.files) == expected
    assert (written.said, written.lost) == ((), ())


def test_of_several_runs_each_has_a_folder(tmp_path: Path) -> None:
    runs = {number: Run([ticks([number])], Encoder()) for number in (1, 3)}
    bundle = write_runs(tmp_path / "x.trace", runs)
    unbundle(bundle, tmp_path / "out", ".parquet", lambda _: None)
    assert names(tmp_path / "out") == ["run1/tick.parquet", "run3/tick.parquet"]
    assert pd.read_parquet(tmp_path / "out/run3/tick.parquet")["time"].tolist() == [3]


def test_what_is_damaged_is_named_and_the_rest_written(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", TABLES)
    stores = sorted(bundle.glob("corespace/run1/core/stores/*"), key=lambda one: int(one.name[14:]))
    (stores[0] / "bulkstore").write_bytes(b"nonsense")
    (stores[2] / "schema.xml").write_bytes(b"nonsense")
    (stores[1] / "spec.plist").write_bytes(b"nonsense")
    told: list[str] = []
    written = unbundle(bundle, tmp_path / "out", ".parquet", told.append)
    assert written.files == ()
    assert names(tmp_path / "out") == []
    assert told == ["writing tick"]
    assert len(written.lost) == 3
    for lost, name in zip(written.lost, ("spec.plist", "schema.xml", "bulkstore"), strict=True):
        assert name in lost


def test_a_schema_cannot_name_another_folder(tmp_path: Path) -> None:
    odd = ticks([1])
    tables = [type(odd)(name, odd.columns, odd.rows, {}) for name in ("../../evil", "/x", "x-2")]
    bundle = write_bundle(tmp_path / "x.trace", [*tables, tables[2]])
    unbundle(bundle, tmp_path / "out", ".csv", lambda _: None)
    assert names(tmp_path / "out") == ["______evil.csv", "_x.csv", "x-2-2.csv", "x-2.csv"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", TABLES)
    (tmp_path / "out").write_text("a file")
    with pytest.raises(RecordingError, match="cannot be written: Not a directory"):
        unbundle(bundle, tmp_path / "out", ".csv", lambda _: None)
