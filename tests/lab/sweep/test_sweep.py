"""Sweeps: sizes, subjects whose times are literal, the page, and the command on real subjects."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from bench_subjects import Hand
from json_documents import require_schema
from tracekit.base.errors import UsageError
from tracekit.base.redaction import redact_nothing
from tracekit.cli.sweep_page import render_sweep
from tracekit.lab.bench.inputs import Inputs, Prepared, Shape, Subject
from tracekit.lab.bench.measure import Effort
from tracekit.lab.bench.run import SUBJECTS
from tracekit.lab.sweep import words as sweep_words
from tracekit.lab.sweep.measurement import (
    PARAMETERS,
    SweepDocument,
    SweepPlan,
    choose_parameter,
    measure_sweep,
    parse_sizes,
    sweep_document,
)
from tracekit.machine.sources import CpuTime

MS = 1_000_000
EFFORT = Effort(warmup=1, repetitions=20, budget=1000)
FIRST = {1: 10, 2: 10, 4: 20, 5: 50, 6: 40}
SECOND = {1: 12, 2: 12, 4: 15, 5: 16, 6: 17}

on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")


def count_no_cpu_time() -> CpuTime:
    return CpuTime(0.0, 0.0, 0.0)


def sized_subject(hand: Hand, name: str, times: Mapping[int, int]) -> Subject:
    """Return a subject of the family norm that takes so many ms by the number of its rows."""

    def prepare(inputs: Inputs) -> Prepared:
        rows = inputs.shape.rows
        prepared = hand.subject(f"{name} {rows}", times[rows] * MS).prepare(inputs)
        return replace(prepared, step=replace(prepared.step, flops=1000 * rows))

    return Subject(name, "norm", "norm", "literal", prepare)


def sweep_literal_times(**effort: int) -> SweepDocument:
    hand = Hand()
    subjects = [sized_subject(hand, "first", FIRST), sized_subject(hand, "second", SECOND)]
    plan = SweepPlan("first", "rows", tuple(FIRST), Shape(), against="second")
    return measure_sweep(
        plan,
        subjects,
        replace(EFFORT, **effort),
        clock=hand.read,
        count=count_no_cpu_time,
    )


def test_sizes_are_ranges_and_single_numbers() -> None:
    assert parse_sizes("1:4") == (1, 2, 3, 4)
    assert parse_sizes("8:30:8") == (8, 16, 24)
    assert parse_sizes("16, 1,2,2,4:5") == (1, 2, 4, 5, 16)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "'' does not list sizes"),
        ("1:2:3:4", "does not list sizes"),
        ("-1:4", "does not list sizes"),
        ("4:1", "The range '4:1' holds no size"),
        ("0:4", "The range '0:4' holds no size"),
        ("1:4:0", "The range '1:4:0' holds no size"),
        ("7", "A sweep takes two sizes or more"),
        ("1:1000000000000", "A sweep takes 256 sizes at most"),
        ("1:200,300:400", "A sweep takes 256 sizes at most"),
    ],
)
def test_bad_sizes_are_refused(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_sizes(words)


def test_cliffs_and_crossovers_of_literal_times() -> None:
    sweep = sweep_literal_times()
    first, second = sweep.curves
    assert [(cliff.kind, cliff.smaller_size, cliff.larger_size) for cliff in first.cliffs] == [
        ("rise", 4, 5),
        ("drop", 5, 6),
    ]
    assert (second.cliffs, second.judged, second.unjudged) == ((), 4, ())
    assert sweep_words.findings(sweep) == [
        "first, rows 4 to 5: 2.50 times the time (2.50 to 2.50) for 1.25 times the work.",
        (
            "first, rows 5 to 6: 0.80 times the time (0.80 to 0.80) although it is 1.20 times the "
            "work; padding 5 to 6 would be quicker."
        ),
        "first is quicker at rows 2, second at 4.",
    ]
    title, _, rows = sweep_words.table(sweep, first)
    assert title == "first over rows"
    assert rows[3] == ("5", "50 ms", "0 ns", "10 s", "▲ rise 2.00x")
    require_schema(json.loads(json.dumps(sweep_document(sweep))), "SweepDocument")


def test_few_samples_leave_the_question_open() -> None:
    sweep = sweep_literal_times(repetitions=6)
    assert [curve.judged for curve in sweep.curves] == [0, 0]
    assert sweep_words.findings(sweep) == []
    remarks = list(sweep_words.remarks(sweep))
    assert remarks[0] == (
        "Whether there is a cliff is not known: no edge between sizes could be judged."
    )
    assert remarks[1] == (
        "first: edges not judged: 4, such as 1 to 2 (6 independent rounds have both sizes, and an "
        "interval takes 10)."
    )


def test_the_page_has_a_picture_with_marks_and_all_numbers() -> None:
    page = render_sweep(sweep_literal_times(), redact=redact_nothing)
    assert "Cliffs: 2, among 8 edges between sizes that could be judged." in page
    assert page.count("<svg") == 2
    assert page.count('fill="var(--error)"') == 4  # both cliffs in both charts
    assert "▲ rise 2.00x" in page
    assert page == render_sweep(sweep_literal_times(), redact=redact_nothing)


def test_every_family_has_a_parameter() -> None:
    assert {subject.family for subject in SUBJECTS} == set(PARAMETERS)
    (linear,) = [subject for subject in SUBJECTS if subject.name == "norm-separate"]
    assert choose_parameter(linear, None) == "rows"
    assert choose_parameter(linear, "out-dims") == "out_dims"
    with pytest.raises(UsageError, match="no parameter of this subject 'row'"):
        choose_parameter(linear, "row")


def test_subjects_of_different_families_are_not_compared(
    tracekit: Callable[..., Any],
) -> None:
    result = tracekit("bench", "sweep", "paged", "--sizes", "1,2", "--against", "flash")
    assert (result.code, result.out) == (2, "")
    assert "paged and flash do different work" in result.err


@on_the_cpu
@pytest.mark.parametrize("family", PARAMETERS)
def test_real_subjects_of_each_family_are_swept(
    tracekit: Callable[..., Any], tmp_path: Path, family: str
) -> None:
    subject = next(
        entry.name for entry in SUBJECTS if entry.family == family and entry.name != "norm-fused"
    )
    small = (
        "--batch 1 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 --active-blocks 2 "
        "--queries 8 --rows 1 --dims 32 --out-dims 32 --experts 4 --top-k 1 --dtype float32 "
        "--budget 0.001 --repeats 2 --warmup 1"
    ).split()
    file = tmp_path / "sweep.json"
    result = tracekit("bench", "sweep", subject, "--sizes", "1:3", "-o", file, *small)
    assert result.code == 0, result.err
    document = json.loads(file.read_text())
    require_schema(document, "SweepDocument")
    works = [point["work"] for point in document["curves"][0]["points"]]
    assert len(works) == 3
    assert works == sorted(set(works)), "the work grows with the parameter"
