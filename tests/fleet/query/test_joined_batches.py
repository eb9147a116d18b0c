"""Questions to a batch whose files are joined, or taken apart, at some moment of the answer."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import InputError
from tracekit.fleet.batch import parts
from tracekit.fleet.batch.results import BatchRow, as_table
from tracekit.fleet.query.ask import ask_runs
from tracekit.fleet.query.database import QueryDatabase

KEYS = [f"k{number:02d}" for number in range(20)]
QUESTION = """
    select count(*) as intervals, count(distinct run) as recordings,
        (select count(*) from metrics) as metrics, (select count(*) from batch_results) as results
    from gpu_intervals
"""
ANSWER = {"intervals": 40, "recordings": 20, "metrics": 20, "results": 20}


def make_output(place: Path) -> tuple[Path, Path, Path]:
    """Make the folder of a batch; return it, and those of its results and of a table."""
    folder = place / "out"
    results, table = folder / "results", folder / "tables" / "gpu_intervals"
    results.mkdir(parents=True)
    table.mkdir(parents=True)
    return folder, results, table


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A batch of twenty recordings, each with a metric and two intervals."""
    folder, results, table = make_output(tmp_path)
    for key in KEYS:
        row = BatchRow(key, key, key, "stamp", "bundle", "ok", metrics={"gpu_busy": 1.0})
        pq.write_table(as_table((row,)), results / f"{key}.parquet")
        intervals = {"recording": [key, key], "start": [0, 5], "duration": [3, 4]}
        pq.write_table(pa.table(intervals), table / f"{key}.parquet")
    return folder


def join(output: Path) -> None:
    for folder in (output / "results", output / "tables" / "gpu_intervals"):
        parts.join(folder)


def take_apart(output: Path) -> None:
    for folder in (output / "results", output / "tables" / "gpu_intervals"):
        parts.take_apart(folder, KEYS, {})


Change = Callable[[Path], None]
CHANGES = pytest.mark.parametrize(
    ("before", "change"), [(take_apart, join), (join, take_apart)], ids=["join", "take-apart"]
)


@CHANGES
def test_files_that_are_replaced_before_the_rows_are_read_are_listed_again(
    before: Change, change: Change, output: Path
) -> None:
    before(output)
    file = io.BytesIO()
    with ask_runs(QUESTION, [output]) as (answer, warnings):
        change(output)
        answer.write(file, "parquet")
        before(output)
        assert answer.count_rows() == 1
    assert pq.read_table(file).to_pylist() == [ANSWER]
    assert warnings == ()


@CHANGES
@pytest.mark.parametrize("reader", ["read_metadata", "read_table", "read_schema"])
@pytest.mark.parametrize("place", range(4))
def test_files_that_are_replaced_while_they_are_listed_are_listed_again(
    before: Change, change: Change, reader: str, place: int, output: Path,
    ask: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    before(output)
    original = getattr(pq, reader)
    calls: list[Path] = []

    def read(file: Path, *arguments: Any, **options: Any) -> Any:
        calls.append(file)
        if len(calls) == place + 1:
            change(output)
        return original(file, *arguments, **options)

    monkeypatch.setattr(parts.pq, reader, read)
    assert ask(QUESTION, output) == [ANSWER]
    assert ask.said == ()


@CHANGES
def test_a_folder_that_is_replaced_while_it_is_listed_is_listed_whole(
    before: Change, change: Change, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before(output)
    original = Path.glob
    folders: list[Path] = []

    def glob(folder: Path, pattern: str) -> Any:
        entries = original(folder, pattern)
        folders.append(folder)
        if len(folders) == 1:
            yield next(entries)
            change(output)
        yield from entries

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", glob)
        files = parts.find_files(output / "results")
    names = [name for file in files for name in parts.names_in(file)]
    assert sorted(names) == KEYS


def test_a_file_that_cannot_be_read_for_another_reason_is_an_error(tmp_path: Path) -> None:
    database = QueryDatabase([], tmp_path)
    attempts: list[str] = []

    def work() -> None:
        attempts.append("")
        raise duckdb.IOException("Input/output error")

    with pytest.raises(duckdb.IOException, match="Input/output error"):
        database.read(work)
    assert len(attempts) == 1
    with pytest.raises(duckdb.IOException, match="Input/output error"):
        database.read(work, renew=lambda: True)
    assert len(attempts) < 10
    database.close()


MONTHS = ["2026-10"] * 20 + ["2026-11"] * 20 + [None] * 20


@pytest.fixture
def dated_output(tmp_path: Path) -> Path:
    """A joined batch of sixty recordings with an interval each: of two months, or undated."""
    folder, results, table = make_output(tmp_path)
    for number, month in enumerate(MONTHS):
        key = f"k{number:02d}"
        started = f"{month}-{1 + number % 28:02d}T12:00:00Z" if month else ""
        row = BatchRow(key, key, key, "stamp", "bundle", "ok", started=started)
        pq.write_table(as_table((row,)), results / f"{key}.parquet")
        months = pa.array([month], pa.string()).dictionary_encode()
        intervals = pa.table({"recording": [key], "month": months, "start": [number]})
        pq.write_table(parts.mark_month(intervals, month), table / f"{key}.parquet")
    join(folder)
    return folder


def test_a_part_has_one_month_and_a_question_of_a_month_reads_no_other(
    dated_output: Path, ask: Any
) -> None:
    question = "select count(*) as n, min(start) as first from gpu_intervals where month {}"
    assert ask(question.format("= '2026-11'"), dated_output) == [{"n": 20, "first": 20}]
    assert ask(question.format("is null"), dated_output) == [{"n": 20, "first": 40}]
    assert ask("select count(*) as n from gpu_intervals", dated_output) == [{"n": 60}]
    files = parts.find_files(dated_output / "tables" / "gpu_intervals")
    months = [set(pq.read_table(file)["month"].to_pylist()) for file in files]
    assert sorted(months, key=str) == [{"2026-10"}, {"2026-11"}, {None}]
    for file, part_months in zip(files, months, strict=True):
        if part_months == {"2026-11"}:
            continue
        content = file.read_bytes()
        footer = 8 + int.from_bytes(content[-8:-4], "little")
        file.write_bytes(bytes(len(content) - footer) + content[-footer:])
    assert ask(question.format(">= '2026-11'"), dated_output) == [{"n": 20, "first": 20}]
    with pytest.raises(InputError, match=r"A Parquet file is damaged: .*Invalid data"):
        ask(question.format("= '2026-10'"), dated_output)


def test_recordings_are_selected_by_their_time(dated_output: Path, ask: Any) -> None:
    question = "select count(*) as n from {} where started >= '2026-11-05'"
    assert ask(question.format("runs"), dated_output) == [{"n": 16}]
    assert ask(question.format("batch_results"), dated_output) == [{"n": 16}]
    undated = "select count(*) as n from runs where started is null"
    assert ask(undated, dated_output) == [{"n": 20}]


def test_files_of_a_batch_that_knew_no_months_are_read(output: Path, ask: Any) -> None:
    for file in (output / "results").iterdir():
        pq.write_table(pq.read_table(file).drop_columns("started"), file)
    join(output)
    question = "select count(*) as n from {} where {} is null"
    assert ask(question.format("gpu_intervals", "month"), output) == [{"n": 40}]
    assert ask(question.format("runs", "started"), output) == [{"n": 20}]
