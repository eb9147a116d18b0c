"""The command: suites end to end, exit codes, files, bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from bench_subjects import Hand
from json_documents import require_schema
from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.cli import bench
from tracekit.lab.bench.document import Bench
from tracekit.lab.bench.inputs import Shape, Subject
from tracekit.lab.bench.run import SUBJECTS, Settings, run_bench
from tracekit.machine.sources import CpuTime

Run = Callable[..., Any]
MS = 1_000_000
SMALL_ATTENTION = (
    "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 --active-blocks 2 "
    "--dtype float32 --warmup 1 --budget 0.01 --repeats 6"
).split()
SMALL = [*SMALL_ATTENTION, *"--queries 16 --rows 2 --dims 32 --out-dims 32 --experts 4".split()]


on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")


@pytest.mark.processes
@on_the_cpu
def test_all_suites_end_to_end(tracekit: Run, tmp_path: Path) -> None:
    result = tracekit("bench", "run", "--suite", "all", "-o", tmp_path / "results.json", *SMALL)
    assert result.code == 0, result.err
    document = json.loads((tmp_path / "results.json").read_text())
    measured = [row["name"] for row in document["rows"] if row["state"] == "measured"]
    assert [row["name"] for row in document["rows"]] == [subject.name for subject in SUBJECTS]
    assert len(measured) == len(SUBJECTS) - 3
    assert result.out.startswith("# decode: "), result.out
    tables = [block.splitlines() for block in result.out.split("\n\n") if block]
    assert [line.split("\t")[0] for table in tables for line in table[2:]] == measured
    titles = [table[0].partition(";")[0] for table in tables]
    families = [title.removeprefix("# ").partition(":")[0] for title in titles]
    assert families == [*dict.fromkeys(subject.family for subject in SUBJECTS)]
    assert titles[-1] == "# train: rows 2, dims 32, out_dims 32, dtype float32"
    assert all(len(row["micro"]["samples"]) == 6 for row in document["rows"] if row["micro"])
    require_schema(document, "BenchDocument")
    assert document["environment"]["backend"] == "cpu"
    assert "norm-fused is not available here: it is a Metal kernel" in result.err
    assert f"written: {tmp_path / 'results.json'}" in result.err


def count_no_cpu_time() -> CpuTime:
    return CpuTime(0.0, 0.0, 0.0)


def measure_subjects(hand: Hand, *subjects: Subject) -> Bench:
    return run_bench(
        Shape(), Settings(), subjects=subjects, clock=hand.read, count=count_no_cpu_time
    )


def test_a_failing_subject_is_shown_and_ends_in_three(capsys: pytest.CaptureFixture[str]) -> None:
    hand = Hand()
    done = measure_subjects(
        hand, hand.subject("broken", MS, fails_after=0), hand.subject("sound", 10 * MS)
    )
    bench._show(done)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ToolError, match=r"^1 of 2 subjects failed: broken\.$") as caught:
        bench._end(done, None)  # pyright: ignore[reportPrivateUsage]
    assert caught.value.exit_code == 3
    printed_output = capsys.readouterr()
    assert printed_output.out.splitlines()[2].startswith("sound\t10 ms\t")
    assert "warning: broken failed: RuntimeError: the kernel is broken" in printed_output.err


def test_an_interrupted_bench_ends_in_130_and_says_where_its_samples_are() -> None:
    for steps, hint in ((5, "The samples so far are in b.json."), (1, "Nothing")):
        hand = Hand()
        stopped = hand.subject("A", 10 * MS, fails_after=steps, error=KeyboardInterrupt)
        interrupted = measure_subjects(hand, stopped)
        with pytest.raises(InterruptedRunError) as caught:
            bench._end(interrupted, Path("b.json"))  # pyright: ignore[reportPrivateUsage]
        assert (caught.value.exit_code, caught.value.hint.startswith(hint)) == (130, True), steps


@on_the_cpu
def test_tuning_ranks_pages_and_writes_them(tracekit: Run, tmp_path: Path) -> None:
    result = tracekit("bench", "tune", "-o", tmp_path / "t.json", *SMALL_ATTENTION)
    assert result.code == 0
    _, head, *rows = result.out.splitlines()
    assert head.split("\t") == ["launch", "call, host clock", "MAD", "x of fastest"]
    assert {line.split("\t")[0] for line in rows if line} == {"block 16", "block 32"}
    assert "Not swept: threadgroup, HD_TILE and partitions" in result.err
    document = json.loads((tmp_path / "t.json").read_text())
    require_schema(document, "TuningDocument")
    assert document["kind"] == "tuning"


def test_a_sweep_writes_no_csv(tracekit: Run) -> None:
    result = tracekit("bench", "tune", "-o", "t.csv")
    assert (result.code, "`bench tune` writes JSON only." in result.err) == (2, True)


def test_bad_input_is_reported_before_measuring(tracekit: Run) -> None:
    for arguments, code, message in (
        ("--suite attentions", 2, "Did you mean attention?"),
        ("--subject spda", 2, "Did you mean sdpa?"),
        ("--suite norm --against sdpa", 2, "There is no subject 'sdpa'."),
        ("-o results.txt", 2, "ends neither in .json nor in .csv"),
        ("--q-heads 5", 2, "5 q heads cannot be shared out among 8 kv heads."),
        ("--active-blocks 4 --max-blocks 2", 2, "--active-blocks must not exceed --max-blocks."),
        ("-o /proc/nowhere/results.json", 3, "cannot be written"),
        ("--batch 4096 --active-blocks 65536", 2, "GB are free"),
        ("--budget 0", 2, "0.001"),
    ):
        result = tracekit("bench", "run", *arguments.split())
        assert (result.code, result.out, message in result.err) == (code, "", True), arguments
