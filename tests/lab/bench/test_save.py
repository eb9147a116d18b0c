"""The files of a bench: columns, fields, and places that cannot be written."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench_subjects import Hand, literal_subject
from fake_metal import FakeMetal, microseconds
from tracekit.base import as_json
from tracekit.lab.bench.document import (
    columns,
    Bench,
    Row,
    as_csv,
    bench_document,
    save,
)
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.measure import Effort, Settings, run_bench
from tracekit.lab.metal_queue import Queue

SHAPE = Shape(batch=4, q_heads=8, kv_heads=2, head_dim=64, block_size=16, active_blocks=1)


@pytest.fixture
def done() -> Bench:
    hand = Hand()
    subjects = [
        literal_subject(hand, "paged", 10_000_000, paged=True),
        literal_subject(hand, "naive", 40_000_000, naive=True),
        literal_subject(hand, "broken", 1, fails_after=0),
        literal_subject(hand, "norm-separate", 10_000_000, family="norm"),
    ]
    settings = Settings(against="naive", effort=Effort(1, 8, 1000))
    return run_bench(SHAPE, settings, subjects=subjects, clock=hand.read)


def test_the_first_columns_are_the_ones_that_guides_name(done: Bench) -> None:
    head, *rows = as_csv(replace(done, rows=())).splitlines()
    assert head.startswith("tokens,seq_len,heads,head_dim,BLOCK_SIZE,TG_SIZE,gpu_ms,subject,")
    assert rows == []


def test_a_line_for_each_subject(done: Bench) -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(done))))
    assert [one["subject"] for one in lines] == ["paged", "naive", "broken", "norm-separate"]
    paged = lines[0]
    known = {"tokens": "4", "seq_len": "16", "heads": "8", "head_dim": "64", "BLOCK_SIZE": "16"}
    known |= {"host_ms": "10.0", "clock": "host", "step_ms": "10.0", "tokens_per_s": "400.0"}
    known |= {"state": "measured", "samples": "8", "bytes": "1000", "flops": "10", "error": "0.5"}
    known |= {"speed_up": "4.0", "against": "naive", "ratio": "4.0", "ratio_low": "4.0"}
    assert {name: paged[name] for name in known} == known


def test_gpu_time_has_its_column_and_the_limits_of_its_pipeline(done: Bench) -> None:
    queue = Queue(FakeMetal(times=microseconds(50)))
    state, one = queue.compile("void decode(", "decode"), (1, 1, 1)
    dispatch = queue.time("decode", state, [{}], grid=one, threadgroup=one)
    row = Row("paged", "decode", "measured", threadgroup=256, dispatches=(dispatch, dispatch))
    line = columns(row, done.shape)
    assert line["gpu_ms"] == pytest.approx(0.1)
    assert line["TG_SIZE"] == 256
    assert (line["execution_width"], line["most_threads"]) == (32, 1024)
    assert line["threadgroup_memory"] == 2176


def test_json_has_every_sample_and_says_how_they_were_taken(done: Bench) -> None:
    plain = json.loads(as_json(bench_document(done)))
    assert list(plain) == [
        *("environment", "shape", "settings", "rows", "started", "interrupted", "version"),
        *("kind", "definitions", "failures"),
    ]
    assert (plain["kind"], plain["version"], plain["failures"]) == ("bench", 1, ["broken"])
    assert plain["definitions"]["percentiles"] == "linear between ranks"
    assert plain["definitions"]["outliers"].startswith("none is dropped")
    assert "ABBA" in plain["definitions"]["order"]
    assert plain["environment"]["clock"] == "host"
    assert plain["environment"]["machine"]["python"]
    assert plain["shape"]["q_heads"] == 8
    assert plain["settings"]["repetitions"] == 8
    paged = plain["rows"][0]
    assert paged["micro"]["samples"] == [10e6] * 8
    assert set(paged["micro"]["summary"]) == {
        *("count", "mean", "std", "median", "mad", "p50", "p95", "p99", "min", "max"),
        *("filtered_mean", "filtered_out"),
    }
    assert paged["gpu_ns"] is None
    assert paged["no_gpu"] == "GPU time is not available, because MLX runs on the CPU here."
    assert paged["speed_up"] == {
        "other": "naive",
        "median": 4.0,
        "low": 4.0,
        "high": 4.0,
        "pairs": 8,
        "reason": "",
    }


def test_the_ending_says_what_is_written(done: Bench, tmp_path: Path) -> None:
    save(done, tmp_path / "new" / "bench.json")
    save(done, tmp_path / "bench.csv")
    assert json.loads((tmp_path / "new" / "bench.json").read_text())["kind"] == "bench"
    assert (tmp_path / "bench.csv").read_text() == as_csv(done)
