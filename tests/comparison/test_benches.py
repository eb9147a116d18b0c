"""Benches as sides of `compare` and `gate`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.lab.bench.document import Bench, BenchRow, Timing, save, summarize
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.metal_queue import Dispatch

Run = Callable[..., Any]
MACHINE = {"chip": "Apple M4 Max", "os": "macOS 26.1"}
# Ten samples of 10 ms that vary by about 0.2 %, and ten that take 20 % longer.
QUICK = tuple(10_000_000 + 20_000 * place for place in (0, 1, -1, 2, -2, 0, 1, -1, 2, -2))
SLOW = tuple(1.2 * sample for sample in QUICK)


def timing(samples: tuple[float, ...]) -> Timing:
    return Timing(samples, 1, summarize(samples))


def write_bench(path: Path, *rows: BenchRow, machine: dict[str, Any] = MACHINE) -> Path:
    save(Bench({"machine": machine, "tracekit": "0.1.0"}, Shape(), {"warmup": 3}, rows), path)
    return path


def subject(name: str, samples: tuple[float, ...], **row_fields: Any) -> BenchRow:
    return BenchRow(name, "decode", "measured", micro=timing(samples), **row_fields)


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    bench_before = write_bench(
        tmp_path / "before.json", subject("paged", QUICK), subject("sdpa", QUICK)
    )
    bench_after = write_bench(
        tmp_path / "after.json", subject("paged", SLOW), subject("sdpa", QUICK)
    )
    return bench_before, bench_after


def test_two_benches_are_compared_subject_by_subject(
    both: tuple[Path, Path], tracekit: Run
) -> None:
    result = tracekit("compare", *both, "--json", "--exit-code")
    assert result.code == 1, result.err
    document = json.loads(result.out)
    changes = {change["metric"]: change for change in document["changes"]}
    assert changes["paged"]["verdict"] == "worse"
    assert changes["paged"]["change"] == pytest.approx(0.2, abs=0.002)
    assert len(changes["paged"]["values_before"]) == 1
    assert changes["sdpa"]["change"] == 0
    assert (document["before"], document["after"]) == (["before.json"], ["after.json"])


def test_a_gate_ends_with_1_after_a_slower_subject(
    both: tuple[Path, Path], tracekit: Run, tmp_path: Path
) -> None:
    markdown = tmp_path / "gate.md"
    result = tracekit("nightly", "gate", *both, "--markdown", markdown)
    assert result.code == 1, result.err
    assert "paged" in markdown.read_text("utf-8")
    arguments = (both[0], both[0], "--force", "--threshold", "0.15")
    assert tracekit("nightly", "gate", *arguments).code == 0


def test_times_of_the_gpu_and_of_steps_are_compared_along_with_calls(
    tracekit: Run, tmp_path: Path
) -> None:
    kernels = [Dispatch("scores", (6e3, 7e3), 6e3, 6.5e3, 32, 1024, 0)]
    kernels += [Dispatch("values", (1e3, 2e3), 1e3, 1.5e3, 32, 1024, 0)]
    row = subject("paged", QUICK, macro=timing(SLOW), dispatches=kernels)
    file = write_bench(tmp_path / "bench.json", row)
    result = tracekit("compare", file, file, "--force", "--json")
    changes = {change["metric"]: change["before"] for change in json.loads(result.out)["changes"]}
    assert changes == {"paged": 10_000_000, "paged_step": 12_000_000, "paged_gpu": 8_000}


def test_a_bench_on_a_busy_machine_decides_nothing(
    both: tuple[Path, Path], tracekit: Run, tmp_path: Path
) -> None:
    busy = subject("paged", SLOW, disturbed="other processes used 1.5 of 2 cores")
    bench_after = write_bench(tmp_path / "busy.json", busy, subject("sdpa", QUICK))
    result = tracekit("compare", both[0], bench_after, "--exit-code")
    assert result.code == 4
    assert "other processes used 1.5 of 2 cores in busy.json" in result.out


def test_a_subject_without_times_says_why(tracekit: Run, tmp_path: Path) -> None:
    broken = BenchRow("norm-fused", "norm", "unavailable", "it is a Metal kernel")
    bench_before = write_bench(tmp_path / "before.json", broken, subject("paged", QUICK))
    bench_after = write_bench(
        tmp_path / "after.json", subject("norm-fused", QUICK), subject("paged", QUICK)
    )
    result = tracekit("compare", bench_before, bench_after, "--json")
    [change] = [row for row in json.loads(result.out)["changes"] if row["metric"] == "norm-fused"]
    assert change["before"] is None
    assert change["reason"] == "before: it is a Metal kernel"


def test_a_bench_is_not_compared_with_a_run_of_other_work(
    both: tuple[Path, Path], tracekit: Run, tmp_path: Path
) -> None:
    other_result = tmp_path / "result.json"
    other_result.write_text(
        '{"provenance": {"workload": "paged", "recorder": "host"}, "format": 1}'
    )
    result = tracekit("compare", both[0], other_result)
    assert result.code == 2
    assert "not of the same work" in result.err


def test_a_bench_of_a_newer_tracekit_and_a_damaged_one_are_refused(
    both: tuple[Path, Path], tracekit: Run
) -> None:
    bench_before, bench_after = both
    document = json.loads(bench_after.read_text())
    bench_after.write_text(json.dumps(document | {"version": 99}))
    assert "has version 99" in tracekit("compare", bench_before, bench_after).err
    bench_after.write_text(json.dumps(document | {"rows": 3}))
    result = tracekit("compare", bench_before, bench_after)
    assert result.code == 3
    assert "after.json cannot be read" in result.err


def test_a_document_of_another_kind_is_named(both: tuple[Path, Path], tracekit: Run) -> None:
    both[1].write_text('{"kind": "tuning", "version": 1, "ranked": []}')
    result = tracekit("compare", *both)
    assert result.code == 3
    assert "after.json is a document of kind 'tuning', which cannot be compared." in result.err
