"""All runs of a folder on one page: in which order, in which series, and what stands there."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from command_line import assert_error
from tracekit.analysis.result import Better, Measurement, Result, RuleCheck, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.documents import save
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.fleet.index import (
    MOST_POINTS,
    entries_of,
    index_markdown,
    kind_of,
    points,
    write_index,
)
from tracekit.lab.bench.document import Bench, BenchRow, Timing, summarize
from tracekit.lab.bench.document import save as save_bench
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.endpoint.runtimes import (
    ComparedRuntimes,
    Runtime,
    RuntimeEffort,
    RuntimeRow,
    RuntimeSample,
    estimate_runtime,
)

PAGED = Provenance(recorder="host", workload="paged", parameters={"batch": 2})
BAD = Finding("bubbles", Severity.WARNING, "Idle for 20 %.", "Submit ahead.")
HOSTILE = "<script>alert(1)<"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Recording]:
    """Make a run's folder with a result: a rate, if it is known, the median step, findings."""

    def make(
        name: str, created: str, rate: float | None, *findings: Finding, of: Provenance = PAGED
    ) -> Recording:
        recording = Recording(tmp_path / name)
        recording.folder.mkdir()
        run_provenance = replace(of, created=created)
        speed = Measurement("tokens_per_second", rate, "tokens/s", Better.HIGHER)
        step = Measurement("step_p50", 1e6, "ns", Better.LOWER)
        check = RuleCheck("bubbles", Status.FOUND if findings else Status.PASSED)
        recording.save_provenance(run_provenance)
        save(recording.result_file, Result(run_provenance, (speed, step), findings, (check,)))
        return recording

    return make


def page(folder: Path) -> Any:
    return html.fromstring(write_index(folder).read_text())


def test_the_command_writes_a_row_for_each_run(tracekit: Any, run: Any, tmp_path: Path) -> None:
    run("good", "3", 1.0).report_file.write_text("")
    run("damaged", "2", 1.0).result_file.write_text(json.dumps({"format": 99}))
    run("raw", "1", 1.0).result_file.unlink()
    run("strange", "0", 1.0).provenance_file.write_text("{")
    (tmp_path / "notes").mkdir()
    outcome = tracekit("runs", "index", tmp_path)
    assert (outcome.code, outcome.out.splitlines()) == (0, [str(tmp_path / "index.html")])
    rows = [" ".join(row.text_content().split()) for row in page(tmp_path).xpath("//tbody/tr")]
    assert len(rows) == 4
    assert "has format 99" in rows[1]
    assert "Not analyzed yet (nothing was done): tracekit analyze raw." in rows[2]
    assert "recording.json cannot be read" in rows[3]


def test_a_bench_is_listed_with_its_subjects(run: Any, tmp_path: Path) -> None:
    run("decode", "2026-03-09T01:00:00+00:00", 500.0)
    samples = (2e6, 3e6, 4e6)
    paged = BenchRow("paged", "decode", "measured", micro=Timing(samples, 1, summarize(samples)))
    broken = BenchRow("naive", "decode", "failed", "ValueError: no")
    started = "2026-03-09T02:00:00+00:00"
    full_bench = Bench({"machine": {"chip": "Apple M4 Max"}}, Shape(), {}, (paged,), started)
    save_bench(full_bench, tmp_path / "before.json")
    save_bench(replace(full_bench, rows=(paged, broken)), tmp_path / "failed.json")
    (tmp_path / "other.json").write_text("{}")
    rows = [" ".join(row.text_content().split()) for row in page(tmp_path).xpath("//tbody/tr")]
    assert len(rows) == 3
    assert "failedbench" in rows[0]
    assert "Failed: naive. paged 3 ms" in rows[0]
    assert "beforebench · Apple M4 Max" in rows[1]
    assert "Measured. paged 3 ms" in rows[1]
    assert "500 tokens/s" in rows[2]


def test_the_table_in_markdown_has_a_row_for_each_run(
    tracekit: Any, run: Any, tmp_path: Path
) -> None:
    run("a-b", "2026-03-09T01:00:00+00:00", 500.0, BAD)
    file = tmp_path / "RESULTS.md"
    for _ in range(2):  # it may be written again, as the page may
        assert tracekit("runs", "index", tmp_path, "--markdown", file).code == 0
    [row] = [line for line in file.read_text("utf-8").splitlines() if line.startswith("| 2026")]
    assert "bubbles" in row
    assert "500 tokens/s" in row
    printed = tracekit("runs", "index", tmp_path, "--markdown", "-")
    assert printed.out == file.read_text("utf-8")


def test_a_folder_without_runs_or_that_cannot_be_written_to_is_said(
    tracekit: Any, run: Any, tmp_path: Path
) -> None:
    assert_error(
        tracekit("runs", "index", tmp_path), 3, "There is no run in", "Name a folder of runs"
    )
    assert list(tmp_path.iterdir()) == []
    run("whole", "1", 1.0)
    (tmp_path / "index.html").mkdir()
    assert_error(tracekit("runs", "index", tmp_path), 3, "index.html is a folder")
    assert tracekit("runs", "index", tmp_path / "missing").code == 3


def test_a_series_holds_the_latest_values_of_runs_of_its_kind(run: Any, tmp_path: Path) -> None:
    for index in range(MOST_POINTS + 5):
        run(f"{index:03}", f"{index:03}", float(index))
    run("other", "998", 9.0, of=replace(PAGED, parameters={"batch": 4}))
    run("slow", "999", None)
    slow, other_entry, newest, *_ = entries_of(tmp_path)
    assert newest["series"] == [float(at) for at in range(5, MOST_POINTS + 5)]
    assert other_entry["series"] == [9.0]
    assert (slow["followed"].name, slow["series"]) == ("step_p50", [1e6])
    for name in ("b", "a", "c"):
        run(name, "9999", 1.0)
    latest = [entry["folder"] for entry in entries_of(tmp_path)[:3]]
    assert latest == ["c", "b", "a"], "runs of one moment stand by name"


def test_differences_between_runs() -> None:
    assert kind_of(replace(PAGED, created="later", tracekit="0.2")) == kind_of(PAGED)
    changes: dict[str, Any] = {"recorder": "xctrace", "workload": "sdpa", "command": ("./main",)}
    changes |= {"templates": ("Metal System Trace",), "machine": {"chip": "Apple M3"}}
    for name, value in changes.items():
        assert kind_of(replace(PAGED, **{name: value})) != kind_of(PAGED), name


def test_a_row_has_the_verdict_links_and_the_course_of_its_kind(run: Any, tmp_path: Path) -> None:
    run("2026 run", "2026-11-20T10:00:00+00:00", 12.5, BAD).report_file.write_text("")
    run("older", "2026-11-19T10:00:00+00:00", 10.0)
    first_row, second = page(tmp_path).xpath("//tbody/tr")
    assert first_row.xpath(".//th/a/@href") == ["2026%20run/report.html"]
    assert "2026-11-20 10:00:00 UTC" in first_row.text_content()
    assert "Idle for 20 %. Submit ahead. bubbles" in " ".join(first_row.text_content().split())
    assert first_row.xpath(".//svg/@aria-label") == [
        "Tokens per second: the last of 2 runs of its kind, from 10 tokens/s to 12.5 tokens/s"
    ]
    assert second.xpath("count(.//polyline)") == 0


def test_a_run_without_workload_has_a_name(run: Any, tmp_path: Path) -> None:
    run("target", "3", 1.0, of=Provenance(targets=(Process(1, "llama-bench"),)))
    run("program", "2", 1.0, of=Provenance(command=("./main", "-m")))
    run("folder", "1", 1.0, of=Provenance())
    names = [entry["name"] for entry in entries_of(tmp_path)]
    assert names == ["llama-bench", "./main -m", "folder"]


def test_hostile_names_stay_text_and_no_script_may_run(run: Any, tmp_path: Path) -> None:
    provenance = Provenance(recorder="host", workload=HOSTILE, parameters={"name": HOSTILE})
    run(HOSTILE, "1", 1.0, replace(BAD, message=HOSTILE), of=provenance)
    text = write_index(tmp_path).read_text()
    assert "<script" not in text
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_values_lie_evenly_apart_between_least_and_most() -> None:
    assert points([5.0]) == ((3.0, 11.0),)
    assert points([7.0, 7.0]) == ((3.0, 11.0), (93.0, 11.0))
    assert points([1.0, 3.0, 2.0]) == ((3.0, 19.0), (48.0, 3.0), (93.0, 11.0))
    assert points([-4.0, 4.0]) == ((3.0, 19.0), (93.0, 3.0))


def test_servers_of_a_comparison_are_listed_with_model_and_quantization(tmp_path: Path) -> None:
    config = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    (tmp_path / "q4").mkdir()
    (tmp_path / "q4" / "config.json").write_text(
        json.dumps({**config, "quantization": {"bits": 4}})
    )
    runtime = Runtime("mlx_lm", ("x",), str(tmp_path / "q4"))
    sample = RuntimeSample(2e9, 1e9, 5e7, 2000.0, 80.0, 100.0, 2**30, 0, 0)
    estimate = estimate_runtime(runtime, RuntimeEffort())
    measured_row = RuntimeRow("mlx_lm", runtime.model, [], [sample], estimate=estimate)
    failed_row = RuntimeRow("llama.cpp", "x.gguf", [], reason="it ended with exit code 5")
    rows = [measured_row, failed_row]
    chip = {"chip": "Apple M4 Max"}
    compared = ComparedRuntimes(RuntimeEffort(), rows, [], chip, "2026-03-09T02:00:00+00:00")
    save(tmp_path / "r.json", compared)
    (tmp_path / "bad.json").write_text('{"kind": "runtimes"}')
    markdown = index_markdown(tmp_path)
    assert "mlx\\_lm · Apple M4 Max · q4 · 4 bits" in markdown
    assert "Measured. prefill 2,000 tokens/s, load 1 s, memory 1 GiB" in markdown
    assert "Decode 80 tokens/s" in markdown
    assert "Failed: it ended with exit code 5." in markdown
    assert "missing required field" in markdown
