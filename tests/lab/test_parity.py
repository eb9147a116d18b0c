"""Parity: the grid, errors of planted implementations, the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
import typer

from json_documents import require_schema
from small_kernels import needs_emulation
from tracekit.base.errors import InterruptedRunError
from tracekit.base.tolerances import BOUNDS
from tracekit.cli import verify as command
from tracekit.lab.parity import (
    GRID,
    Attend,
    Heads,
    Implementation,
    Parity,
    ParityCase,
    ParityOutcome,
    chosen_implementations,
    parity_document,
    repeat,
    rows,
    run_parity,
)
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.problem import DecodeProblem

Run = Callable[..., Any]
CASE = ParityCase("float32", 64, 16, lengths="edges")
EMPTY = ParityCase("float16", 64, 16, lengths="empty")
on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")
DENSE = next(
    implementation
    for implementation in chosen_implementations(emulate=False)
    if implementation.dense
)


def test_the_short_grid_has_every_type_and_every_kind_of_lengths() -> None:
    assert len({case.name for case in GRID}) == len(GRID)
    case = ParityCase("float16", 128, 32, Heads(6, 2), "edges")
    assert case.name == "float16-d128-b32-q6-kv2-edges"
    quick = [case for case in GRID if case.quick]
    kinds = {"ragged", "one", "full", "edges", "empty", "seven", "eight", "long"}
    assert {(case.dtype, case.lengths) for case in quick} == {
        (dtype, kind) for dtype in ("float32", "float16", "bfloat16") for kind in kinds
    }
    assert len(quick) == 27


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        *(("ragged", [1, 19, 31, 64]), ("one", [1]), ("full", [64, 64]), ("edges", [15, 16, 17])),
        *(("empty", [16, 0, 5]), ("seven", [*range(16, 23)]), ("long", [763, 17])),
    ],
)
def test_only_elements_past_an_end_are_nan(lengths: Any, expected: list[int]) -> None:
    case = ParityCase("bfloat16", 64, 16, lengths=lengths)
    assert case.lens == expected
    problem = case.problem(0)
    tables = np.array(problem.block_tables)
    for pages in (problem.k_pages, problem.v_pages):
        nan = np.array(mx.isnan(pages))
        for table, length in zip(tables, case.lens, strict=True):
            read = nan[table].reshape(-1, 2, 64)
            assert not read[:length].any(), (pages, table)
            assert read[length:].all(), (pages, table)


def right(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
    return attend(problem, scale=scale, longest=max(lens))


def run(*planted: Attend, cases: tuple[ParityCase, ...] = (CASE,)) -> Parity:
    return run_parity(
        cases, [DENSE, *(Implementation("planted", attention) for attention in planted)]
    )


def make_wrong_implementation(by: float, sequence: int = 0) -> Attend:
    """Return an implementation that is off by a part of one sequence's largest value."""

    def wrong(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
        output = right(problem, lens, scale)
        output[sequence, 0, 0] += by * mx.abs(output[sequence]).max()
        return output

    return wrong


def test_right_results_are_within_their_bounds() -> None:
    done = run(right)
    dense, paged = done.outcomes
    assert (dense.subject, dense.apart, paged.subject) == ("sdpa", None, "planted")
    assert paged.error is not None
    assert paged.apart is not None
    assert 0 < paged.error <= 1e-5
    assert paged.apart_bound == 2e-5
    assert paged.apart <= 2e-5
    assert done.breaches == ()


def test_an_error_or_a_distance_beyond_its_bound_is_a_breach() -> None:
    for by, breach in ((5e-6, False), (2e-5, True), (1.0, True)):
        outcome = run(make_wrong_implementation(by, sequence=2)).outcomes[1]
        assert (outcome.error, outcome.breach) == (pytest.approx(by, rel=0.5), breach), by
    errors = ((1e-5, 2e-5), (9e-6, 2.1e-5), (1.1e-5, 0.0), (None, None))
    outcomes = [ParityOutcome("case", "paged", error, 1e-5, apart, 2e-5) for error, apart in errors]
    assert [outcome.breach for outcome in outcomes] == [False, True, True, True]


def test_a_result_that_is_not_a_number_is_a_breach() -> None:
    done = run(lambda problem, *_: problem.q * mx.nan)
    assert done.worst is done.outcomes[1]
    document = parity_document(done)
    outcome = json.loads(json.dumps(document, allow_nan=False))["outcomes"][1]
    assert (outcome["error"], outcome["failure"]) == (None, "the result is not finite")
    assert document["breaches"] == 1


def test_one_that_raises_or_has_another_shape_is_a_breach_with_its_words() -> None:
    def broken(*_: object) -> mx.array:
        raise ValueError("no such  kernel")  # two blanks

    failed_outcomes = run(broken, lambda problem, *_: problem.q[:1]).outcomes[1:]
    assert [(outcome.error, outcome.breach, outcome.failure) for outcome in failed_outcomes] == [
        (None, True, "ValueError: no such kernel"),
        (None, True, "its shape is [1, 8, 64] and not [3, 8, 64]"),
    ]


def test_an_empty_sequence_must_be_zeros_in_paged_attention() -> None:
    def ones(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
        output = right(problem, lens, scale)
        output[1] = mx.ones_like(output[1])
        return output

    outcomes = run(right, ones, cases=(EMPTY,)).outcomes
    assert [outcome.breach for outcome in outcomes] == [False, False, True]
    # what dense attention gives for it does not count
    planted = [Implementation("dense", ones, dense=True), Implementation("paged", right)]
    assert run_parity([EMPTY], planted).breaches == ()


def test_a_row_for_each_implementation_and_type() -> None:
    done = run(make_wrong_implementation(1.0), cases=(CASE, EMPTY))
    table = rows(done)
    assert [row[:3] for row in table] == [
        (name, dtype, "1") for dtype in ("float32", "float16") for name in ("sdpa", "planted")
    ]
    assert table[0][4:] == ("1e-05", "", "", "ok")
    assert table[1][6:] == ("2e-05", "1 of 1 breach")
    seeded = Parity(done.outcomes, 7, emulated=True, backend="cpu")
    assert seeded.worst is not None
    assert repeat(seeded.worst, seeded).endswith("--subject planted --seed 7 --emulate")


def test_an_interrupt_keeps_the_cases_that_ran() -> None:
    def stop(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
        if problem.dtype == mx.float16:
            raise KeyboardInterrupt
        return right(problem, lens, scale)

    done = run(stop, cases=(CASE, EMPTY, CASE))
    assert done.interrupted
    assert [outcome.case for outcome in done.outcomes] == [CASE.name, CASE.name]


@on_the_cpu
def test_kernels_need_metal_or_the_emulation() -> None:
    kernels = ("paged-grouped", "paged-split", "paged-per-head", "paged-barriers")
    for emulate, expected in ((False, ("sdpa", "paged")), (True, ("sdpa", "paged", *kernels))):
        implementations = chosen_implementations(emulate=emulate)
        assert tuple(implementation.name for implementation in implementations) == expected


@needs_emulation
def test_the_metal_kernels_agree_on_the_cpu() -> None:
    names = ["paged-grouped", "paged-split", "paged-per-head"]
    chosen = chosen_implementations(names, emulate=True)
    done = run_parity((EMPTY, ParityCase("float16", 64, 16, lengths="seven")), chosen, emulate=True)
    assert [outcome.subject for outcome in done.outcomes] == ["sdpa", *names] * 2
    assert done.breaches == ()


@on_the_cpu
def test_the_short_grid_holds(tracekit: Run) -> None:
    result = tracekit("kernel", "parity", "--quick")
    assert result.code == 0, result.err
    title, head, *lines, _ = result.out.splitlines()
    assert title == "# parity: 27 cases, MLX on the cpu"
    assert head.split("\t")[:3] == ["subject", "dtype", "cases"]
    table = [line.split("\t") for line in lines]
    assert {(row[0], row[1], row[2], row[-1]) for row in table} == {
        (subject, dtype, "9", "ok") for dtype in BOUNDS for subject in ("sdpa", "paged")
    }
    assert "--emulate runs them." in result.err
    assert "Nearest to its bound: tracekit kernel parity --case " in result.err


def test_json_has_every_outcome(tracekit: Run, tmp_path: Path) -> None:
    case = "float16-d64-b16-q8-kv2-one"
    result = tracekit(
        "kernel", "parity", "--case", case, "--json", "--seed", "3", "-o", tmp_path / "p.json"
    )
    assert result.code == 0
    document = json.loads(result.out)
    assert document == json.loads((tmp_path / "p.json").read_text()) | {"format": 1}
    require_schema(document, "ParityDocument")
    expected_facts: dict[str, Any] = {
        "kind": "parity",
        "version": 1,
        "breaches": 0,
        "seed": 3,
        "interrupted": False,
    }
    expected_facts["bounds"] = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
    assert {name: document[name] for name in expected_facts} == expected_facts
    assert {outcome["case"] for outcome in document["outcomes"]} == {case}
    paged = document["outcomes"][1]
    assert (paged["subject"], paged["bound"], paged["failure"]) == ("paged", 2e-3, "")
    assert paged["error"] <= paged["apart"] + paged["bound"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--case float16-d64-b16", 2, "There is no case 'float16-d64-b16'."),
        ("--subject pagd", 2, "Did you mean paged?"),
        ("-o parity.csv", 2, "--output writes JSON; parity.csv ends in something else."),
        ("--case float16-d64-b16-q8-kv2-one --emulate", 3, "compiler"),
    ],
)
def test_a_kernel_that_cannot_run_is_not_a_breach(
    tracekit: Run, monkeypatch: pytest.MonkeyPatch, arguments: str, code: int, said: str
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    result = tracekit("kernel", "parity", *arguments.split())
    assert (result.code, result.out, said in result.err) == (code, "", True)


def test_a_breach_ends_in_one_and_says_how_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    breached = run(lambda problem, *_: problem.q)
    with pytest.raises(typer.Exit) as caught:
        command._end(breached)  # pyright: ignore[reportPrivateUsage]
    assert caught.value.exit_code == 1
    printed_text = capsys.readouterr().err
    assert "warning: planted on float32-d64-b16-q8-kv2-edges: error " in printed_text
    assert "bound 1e-05" in printed_text
    assert (
        "Repeat it: tracekit kernel parity --case float32-d64-b16-q8-kv2-edges --subject"
        in printed_text
    )
    interrupted = Parity((), 0, emulated=False, backend="cpu", interrupted=True)
    with pytest.raises(InterruptedRunError) as stopped:
        command._end(interrupted)  # pyright: ignore[reportPrivateUsage]
    assert stopped.value.exit_code == 130
