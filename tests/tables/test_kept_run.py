"""The index and the normalized tables of a run: kept in its folder, made again after a change."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.tables import kept_index
from tracekit.tables.direct import Stored
from tracekit.tables.exports import index
from tracekit.tables.kept_index import find_index
from tracekit.tables.losses import Flaw
from tracekit.tables.of_bundle import leave_in_place
from tracekit.tables.table_files import digest_code
from tracekit.tables.tables import Tables

GPU = "metal-gpu-intervals"
HOUR = 3600 * 10**9


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an hour pass after every write, so that stamps can be trusted."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + HOUR)


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """The exports of a run whose bundle has two intervals and a table that nobody knows."""
    bundle = write_bundle(
        tmp_path / "run" / "recording.trace",
        [intervals((10, 5, PYTHON), (20, 5, SERVER)), ticks([1])],
    )
    leave_in_place(bundle, tmp_path / "run" / "exports")
    return tmp_path / "run" / "exports"


@pytest.fixture
def cache(exports: Path) -> Path:
    return exports.parent / "tables"


def forbid(*_: object) -> object:
    raise AssertionError("it was made again")


@pytest.mark.usefixtures("later")
def test_an_index_is_read_again_without_its_bundle(
    exports: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = find_index(exports, cache)
    monkeypatch.setattr(kept_index, "index", forbid)
    kept = find_index(exports, cache)
    assert kept == made == index(exports)
    assert [table.schema for table in kept.all_tables] == [GPU, "tick"]
    assert isinstance(kept.tables[GPU][0].ref, Stored)


def test_an_index_of_young_files_is_kept_by_their_content(
    exports: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = find_index(exports, cache)
    monkeypatch.setattr(kept_index, "index", forbid)
    assert find_index(exports, cache) == made


@pytest.mark.usefixtures("later")
def test_an_index_is_made_again_if_a_file_of_the_bundle_differs(exports: Path, cache: Path) -> None:
    assert set(find_index(exports, cache).tables) == {GPU, "tick"}
    schema = next(exports.parent.rglob("schema.xml"))
    schema.write_bytes(b"damaged")
    damaged = find_index(exports, cache)
    assert damaged == index(exports)
    assert [loss.flaw for loss in damaged.missing_losses] == [Flaw.DAMAGED]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 0, "stamps": "", "content": ""}'])
def test_a_damaged_or_old_index_is_made_again(exports: Path, cache: Path, content: str) -> None:
    made = find_index(exports, cache)
    whole = (cache / "index.json").read_text()
    (cache / "index.json").write_text(content)
    assert find_index(exports, cache) == made
    assert (cache / "index.json").read_text() == whole


@pytest.mark.usefixtures("later")
def test_a_run_that_moved_has_the_index_of_its_new_place(exports: Path, cache: Path) -> None:
    find_index(exports, cache)
    moved = exports.parent.rename(exports.parent.with_name("moved")) / "exports"
    assert find_index(moved, moved.parent / "tables") == index(moved)


@pytest.mark.usefixtures("later")
def test_normalized_tables_are_read_again(
    exports: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = frozenset({PYTHON.pid or 0})
    first = Tables(exports, targets, cache)
    made = first["gpu_intervals"]
    monkeypatch.setattr("tracekit.tables.tables.normalize", forbid)
    second = Tables(exports, targets, cache)
    kept = second["gpu_intervals"]
    assert kept.equals(made)
    assert kept.dtypes.to_dict() == made.dtypes.to_dict()
    assert kept["target"].tolist() == [True, False]
    assert second.losses == first.losses


@pytest.mark.usefixtures("later")
def test_normalized_tables_of_other_targets_are_made_again(exports: Path, cache: Path) -> None:
    for process, expected in ((PYTHON, [True, False]), (SERVER, [False, True])):
        tables = Tables(exports, frozenset({process.pid or 0}), cache)
        assert tables["gpu_intervals"]["target"].tolist() == expected
        kept_files = list(cache.glob("*.gpu_intervals.*.normal.parquet"))
        assert len(kept_files) == 1, process


@pytest.mark.skipif(sys.platform == "darwin", reason="names on APFS are UTF-8")
def test_an_index_with_a_name_that_is_not_utf_8_is_not_kept(tmp_path: Path) -> None:
    exports = tmp_path / "exports"
    exports.mkdir()
    odd_file = exports / os.fsdecode(b"metal-gpu-\xff.xml")
    odd_file.write_text('<trace-query-result><node xpath="//table"/></trace-query-result>')
    assert find_index(exports, tmp_path / "tables") == index(exports)
    assert not (tmp_path / "tables" / "index.json").exists()


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_damaged_normalized_table_is_made_again(exports: Path, cache: Path, share: float) -> None:
    made = Tables(exports, cache=cache)["gpu_intervals"]
    [file] = cache.glob("*.gpu_intervals.*.normal.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert Tables(exports, cache=cache)["gpu_intervals"].equals(made)
    assert file.stat().st_size == len(whole)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_not_an_error(exports: Path, cache: Path) -> None:
    exports.parent.chmod(0o500)
    try:
        assert set(find_index(exports, cache).tables) == {GPU, "tick"}
        assert len(Tables(exports, cache=cache)["gpu_intervals"]) == 2
    finally:
        exports.parent.chmod(0o700)


def test_flat_tables_that_are_not_kept_are_normalized_each_time(exports: Path) -> None:
    assert len(Tables(exports)["gpu_intervals"]) == 2
    assert not (exports.parent / "tables").exists()


@pytest.mark.usefixtures("later")
def test_an_index_of_other_code_is_made_again(exports: Path, cache: Path) -> None:
    made = find_index(exports, cache)
    whole = (cache / "index.json").read_text()
    (cache / "index.json").write_text(whole.replace(digest_code(*kept_index._CODE), 32 * "0"))
    assert (cache / "index.json").read_text() != whole
    assert find_index(exports, cache) == made
    assert (cache / "index.json").read_text() == whole


@pytest.mark.usefixtures("later")
def test_joined_tables_are_read_again(
    exports: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Tables(exports, cache=cache)
    made = first["gpu_jobs"]
    monkeypatch.setattr("tracekit.tables.tables.make_table", forbid)
    second = Tables(exports, cache=cache)
    kept = second["gpu_jobs"]
    assert len(kept) == 2
    assert kept.equals(made)
    assert kept.dtypes.to_dict() == made.dtypes.to_dict()
    assert second.warnings == first.warnings


@pytest.mark.usefixtures("later")
def test_a_joined_table_of_other_targets_is_made_again(exports: Path, cache: Path) -> None:
    for process, expected in ((PYTHON, [True, False]), (SERVER, [False, True])):
        tables = Tables(exports, frozenset({process.pid or 0}), cache)
        assert tables["gpu_jobs"]["target"].tolist() == expected
        assert len(list(cache.glob("joined.gpu_jobs.*.normal.parquet"))) == 1, process


@pytest.mark.usefixtures("later")
def test_an_outline_and_a_table_of_arrow_agree_with_the_frame(exports: Path, cache: Path) -> None:
    tables = Tables(exports, cache=cache)
    made = {name: tables.arrow(name) for name in tables}
    again = Tables(exports, cache=cache)
    assert {"gpu_intervals", "gpu_jobs", "losses"} <= made.keys()
    for name, table in made.items():
        frame = again[name]
        assert again.outline(name) == (len(frame), tuple(frame.columns)), name
        assert again.arrow(name).equals(table), name
        assert table.to_pandas().astype(frame.dtypes.to_dict()).equals(frame), name


@pytest.mark.usefixtures("later")
def test_a_table_that_is_damaged_while_it_is_open_is_made_again(exports: Path, cache: Path) -> None:
    made = Tables(exports, cache=cache)["gpu_jobs"]
    tables = Tables(exports, cache=cache)
    assert tables.outline("gpu_jobs")[0] == 2
    [file] = cache.glob("joined.gpu_jobs.*.normal.parquet")
    file.write_bytes(b"PAR1 damaged")
    assert tables["gpu_jobs"].equals(made)


@pytest.mark.usefixtures("later")
def test_a_further_column_of_a_table_that_is_damaged_is_made_again(
    exports: Path, cache: Path
) -> None:
    made = Tables(exports, cache=cache)["gpu_intervals"]
    further = Tables(exports, cache=cache, is_lean=True).further_columns("gpu_intervals")
    [file] = cache.glob("*.gpu_intervals.*.normal.parquet")
    file.write_bytes(b"PAR1 damaged")
    assert further["label"].equals(made["label"])


def test_a_frame_that_was_forgotten_is_read_again(exports: Path, cache: Path) -> None:
    tables = Tables(exports, cache=cache)
    frame = tables["gpu_intervals"]
    tables.forget("gpu_intervals")
    assert tables["gpu_intervals"].equals(frame)


@pytest.mark.usefixtures("later")
def test_lean_frames_lack_columns_and_joins_of_them_do_not(exports: Path, cache: Path) -> None:
    whole = Tables(exports, cache=cache)["gpu_intervals"]
    lean_tables = Tables(exports, cache=cache, is_lean=True)
    lean = lean_tables["gpu_intervals"]
    further = lean_tables.further_columns("gpu_intervals")
    assert {"label", "state", "depth", "frame", "submission"} == set(whole) - set(lean)
    assert set(further) == set(whole) - set(lean)
    assert lean.equals(whole[list(lean)])
    assert pd.DataFrame(dict(further)).equals(whole[list(further)])
    assert "start" not in further
    assert set(whole) < set(lean_tables.arrow("gpu_jobs").column_names)
    assert lean_tables.arrow("gpu_intervals").column_names == list(whole)


def test_a_long_lean_table_takes_few_bytes_a_row(tmp_path: Path) -> None:
    rows = 100_000
    numbers = np.arange(rows)
    table = pa.table(
        {
            "start": numbers * 10,
            "duration": np.full(rows, 5),
            "channel-name": np.full(rows, "Compute"),
            "event-label": [f"Command Buffer 0:gemm   ( python3 (9) )  {n:#x}" for n in numbers],
            "process": np.full(rows, "python3"),
            "process.pid": np.full(rows, 9),
            "cmdbuffer-id": numbers // 10,
        }
    )
    (tmp_path / "exports").mkdir()
    pq.write_table(table, tmp_path / "exports" / "metal-gpu-intervals.parquet")
    tables = Tables(tmp_path / "exports", frozenset({9}), tmp_path / "tables", is_lean=True)
    intervals = tables["gpu_intervals"]
    assert len(intervals) == rows
    assert set(intervals["kernel"]) == {"Command Buffer 0:gemm"}
    assert set(intervals["clock"]) == {"gpu"}
    assert intervals.memory_usage(deep=True).sum() < 160 * rows
