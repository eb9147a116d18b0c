"""`tracekit query`: what it prints, writes and tells a script."""

import math
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from command_line import assert_error

SUM = "select process, sum(duration)::bigint as total from gpu_intervals group by all order by all"


def test_the_first_rows_go_to_stdout_and_others_are_counted(tracekit: Any, imported: Path) -> None:
    result = tracekit("query", SUM, imported)
    assert result.code == 0, result.err
    assert result.out.splitlines() == ["process\ttotal", "WindowServer\t1", "python3\t20"]
    assert "more rows" not in result.err
    result = tracekit("query", "select start from gpu_intervals order by 1", imported, "--rows", 1)
    assert result.out.splitlines() == ["start", "0"]
    assert "2 more rows of 3" in result.err


def test_all_rows_are_written_into_a_file(tracekit: Any, imported: Path, tmp_path: Path) -> None:
    readers = {
        "parquet": pd.read_parquet,
        "csv": pd.read_csv,
        "json": pd.read_json,
        "arrow": pd.read_feather,
    }
    for suffix, read in readers.items():
        file = tmp_path / f"sums.{suffix}"
        result = tracekit("query", SUM, imported, "--output", file)
        assert (result.code, result.out.strip()) == (0, str(file))
        assert read(file)["total"].tolist() == [1, 20], suffix


def test_a_large_answer_on_stdout_announces_its_size_and_is_limited(
    tracekit: Any, imported: Path
) -> None:
    many = "select range n, 'words' t from range(2000)"
    whole = tracekit("query", many, imported, "--output", "-")
    size = f"The answer has {len(whole.out) / 1024:.3g} KiB"
    assert size in whole.err
    assert "--limit N" in whole.err
    first = tracekit("query", many, imported, "--output", "-", "--limit", 2)
    assert (first.out.split(), first.err) == (["n,t", "0,words", "1,words"], "")
    assert_error(tracekit("query", many, imported, "--limit", 2), 2, "--limit is for --output.")


def test_every_type_of_duckdb_is_printed(tracekit: Any, imported: Path) -> None:
    sql = "select * exclude (geometry) from test_all_types()"
    for words in ((), ("--format", "csv"), ("--format", "json")):
        result = tracekit("query", sql, imported, *words)
        assert result.code == 0, (words, result.err)


def test_tables_are_listed(tracekit: Any, imported: Path) -> None:
    result = tracekit("query", "--list", imported)
    listed = [line.split("\t")[:2] for line in result.out.splitlines()]
    assert listed[:5] == [
        ["runs", "1"],
        *([name, "0"] for name in ("metrics", "findings", "evidence", "checks")),
    ]
    assert ["gpu_intervals", "1"] in listed[5:]
    assert all(runs == "1" for _, runs in listed[5:])


def test_errors_are_a_sentence_and_a_code(tracekit: Any, imported: Path) -> None:
    for words, code, message in (
        ((), 2, "No query was given."),
        (("select 1; select 2",), 2, "2 statements"),
        (("drop table runs",), 2, "DROP is refused"),
        (("show tables",), 2, "--list"),
        (("select nope from runs",), 2, '"nope" not found'),
        (("select * from gpu_interval",), 2, "There is no table 'gpu_interval'"),
        (("select * from hangs",), 3, "No run has a table hangs"),
        (("select 1", "nowhere"), 2, "nowhere does not exist"),
        (("select 1", "--output", "x.txt"), 2, "no format"),
    ):
        run_words = () if not words or "nowhere" in words else (imported,)
        assert_error(tracekit("query", *words[:1], *run_words, *words[1:]), code, message)


def test_an_interrupt_ends_a_long_question(tracekit: Any, imported: Path) -> None:
    endless = "select count(*) from range(10000000000000) where range % 7 = random()"
    process = psutil.Process()
    times_before = {thread.id: thread.user_time for thread in process.threads()}
    times_before[process.pid] = math.inf

    def interrupt() -> None:  # once a thread of DuckDB works
        while all(
            thread.user_time <= times_before.get(thread.id, 0) + 0.3 for thread in process.threads()
        ):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    assert_error(tracekit("query", endless, imported), 130, "The query was stopped.")
