"""A batch of a cluster's workers, copied to an object store, and asked there by DuckDB."""

import re
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest

from many_recordings import GPU, run, workers

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "analyse-a-thousand-traces.md"


@pytest.mark.processes
def test_the_lines_of_the_page_ask_the_tables_of_a_batch_in_a_store(
    tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2, 3):
        run(Path("traces") / f"r{seed}", seed, {GPU})
    words = ("batch", "traces", "--output", "out", "--tables", "gpu_intervals")
    with workers(2, tmp_path / "scratch", processes=True) as cluster:
        outcome = tracekit(*words, "--scheduler", cluster.scheduler_address)
    assert (outcome.code, "3 sources: 3 analysed." in outcome.err) == (0, True), outcome.err
    counted = tracekit(
        "query", "select month, count(*) as n from gpu_intervals group by all", "out",
        "--output", "-", "--format", "csv",
    )  # fmt: skip
    _, local_row = counted.out.split()
    assert local_row.startswith("2026-03,")

    [lines] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    fsspec.filesystem("memory").makedirs("/bucket/out")
    names: dict[str, Any] = {}
    exec(lines.replace("s3", "memory"), names)  # noqa: S102  the page is our own
    [(month, count)] = names["counts"].fetchall()
    assert f"{month},{count}" == local_row
    [(recordings,)] = duckdb.sql(
        "select count(*) from 'memory://bucket/out/results/*.parquet' where state = 'ok'"
    ).fetchall()
    assert recordings == 3
    duckdb.unregister_filesystem("memory")
    fsspec.filesystem("memory").rm("/bucket", recursive=True)
