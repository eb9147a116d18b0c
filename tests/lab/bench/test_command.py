"""The command: suites end to end, exit codes, files, bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from bench_subjects import Hand, literal_subject
from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.cli import bench
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.measure import SUBJECTS, Settings, run_bench

Run = Callable[..., Any]
SMALL = (
    "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 --active-blocks 2 "
    "--queries 16 --rows 2 --dims 32 --out-dims 32 --dtype float32 --warmup 1 --budget 0.01 "
    "--repetitions 6"
).split()


def subjects(table: str) -> list[str]:
    """Return the subjects of tables in a file: below a title and a head, and before a blank."""
    blocks = [block.splitlines() for block in table.split("\n\n") if block]
    assert all(block[0].startswith("# ") for block in blocks)
    assert {block[1].split("\t")[0] for block in blocks} == {"subject"}
    return [line.split("\t")[0] for block in blocks for line in block[2:]]


on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")


@pytest.mark.processes
@on_the_cpu
def test_all_suites_end_to_end(tracekit: Run, tmp_path: Path) -> None:
    ran = tracekit(
        *("bench", "--suite", "all", "-o", tmp_path / "results.json", *SMALL),
    )
    assert ran.code == 0, ran.err
    plain = json.loads((tmp_path / "results.json").read_text())
    measured = [row["name"] for row in plain["rows"] if row["state"] == "measured"]
    assert [row["name"] for row in plain["rows"]] == [one.name for one in SUBJECTS]
    assert len(measured) == len(SUBJECTS) - 3
    assert subjects(ran.out) == measured
    titles = [line.partition(";")[0] for line in ran.out.splitlines() if line.startswith("# ")]
    families = [title.removeprefix("# ").partition(":")[0] for title in titles]
    assert families == ["decode", "prefill", "append", "append-run", "norm"]
    assert titles[-1] == "# norm: rows 2, dims 32, out_dims 32, dtype float32"
    assert all(len(row["micro"]["samples"]) == 6 for row in plain["rows"] if row["micro"])
    assert plain["environment"]["backend"] == "cpu"
    assert plain["settings"]["suite"] == "all"
    assert "All times are by the host's clock." in ran.err
    assert "norm-fused is not available here: it is a Metal kernel" in ran.err
    assert "cache-resident: paged" in ran.err
    assert f"written: {tmp_path / 'results.json'}" in ran.err


def test_a_failing_subject_is_told_and_ends_in_three(capsys: pytest.CaptureFixture[str]) -> None:
    hand = Hand()
    subjects = [
        literal_subject(hand, "broken", 10_000_000, fails_after=0),
        literal_subject(hand, "sound", 10_000_000),
    ]
    done = run_bench(Shape(), Settings(), subjects=subjects, clock=hand.read)
    bench._show(done)
    with pytest.raises(ToolError, match=r"^1 of 2 subjects failed: broken\.$") as caught:
        bench._end(done, None)
    assert caught.value.exit_code == 3
    shown = capsys.readouterr()
    title, head, row, last = shown.out.splitlines()
    assert title.startswith("# decode: batch 16, context 1024, ")
    assert head.startswith("subject\tcall, host clock\tMAD\tp95\t")
    assert row.startswith("sound\t10 ms\t")
    assert last == ""
    assert "warning: broken failed: RuntimeError: the kernel is broken" in shown.err


def test_an_interrupted_bench_ends_in_130_and_says_where_its_samples_are(tmp_path: Path) -> None:
    hand = Hand()
    stopped = literal_subject(hand, "A", 10_000_000, fails_after=3, error=KeyboardInterrupt)
    done = run_bench(Shape(), Settings(), subjects=[stopped], clock=hand.read)
    with pytest.raises(InterruptedRunError) as caught:
        bench._end(done, tmp_path / "b.json")
    assert caught.value.exit_code == 130
    measured = any(row.micro for row in done.rows)
    kept = f"What was measured is in {tmp_path / 'b.json'}."
    assert caught.value.hint == (kept if measured else "Nothing was measured before.")


@on_the_cpu
def test_tuning_ranks_pages_and_writes_them(tracekit: Run, tmp_path: Path) -> None:
    ran = tracekit("bench", "--tune", "-o", tmp_path / "t.json", *SMALL)
    assert ran.code == 0
    title, head, *rows, last = ran.out.splitlines()
    assert (
        title
        == "# launches: batch 2, context 32, q_heads 4, kv_heads 2, head_dim 64, dtype float32"
    )
    assert head.split("\t") == ["launch", "call, host clock", "MAD", "x of fastest"]
    assert {line.split("\t")[0] for line in rows} == {"block 16", "block 32"}
    assert last == ""
    assert "Not swept: threadgroup, HD_TILE and partitions" in ran.err
    assert json.loads((tmp_path / "t.json").read_text())["kind"] == "tuning"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--suite attentions", 2, "Did you mean attention?"),
        ("--subject spda", 2, "Did you mean sdpa?"),
        ("--suite norm --against sdpa", 2, "There is no subject 'sdpa'."),
        ("-o results.txt", 2, "ends neither in .json nor in .csv"),
        ("--tune -o t.csv", 2, "--tune writes JSON only."),
        ("--tune --subject paged", 2, "--tune takes no --subject and no --against"),
        ("--tune --against sdpa", 2, "--tune takes no --subject and no --against"),
        ("--q-heads 5", 2, "5 q heads cannot be shared out among 8 kv heads."),
        ("--active-blocks 4 --max-blocks 2", 2, "--active-blocks must not exceed --max-blocks."),
        ("-o /proc/nowhere/results.json", 3, "cannot be written"),
        ("--batch 4096 --active-blocks 65536", 2, "GB are free"),
        ("--budget 0", 2, "0.001"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(
    tracekit: Run, arguments: str, code: int, said: str
) -> None:
    ran = tracekit("bench", *arguments.split())
    assert ran.code == code
    assert said in ran.err
    assert ran.out == ""
