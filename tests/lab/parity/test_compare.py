"""Errors and distances of planted implementations, right and wrong."""

import json
import shutil

import mlx.core as mx
import pytest

from tracekit.lab.parity import (
    Case,
    Implementation,
    Outcome,
    Parity,
    chosen_implementations,
    parity_document,
    repeat,
    rows,
    run_parity,
)
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.problem import Problem

CASE = Case("float32", 64, 16, lengths="edges")
EMPTY = Case("float16", 64, 16, lengths="empty")
on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")
DENSE = next(one for one in chosen_implementations(emulate=False) if one.dense)


def right(problem: Problem, lens: list[int], scale: float) -> mx.array:
    return attend(problem, scale=scale, longest=max(lens))


def run(*planted: Implementation, cases: tuple[Case, ...] = (CASE,)) -> Parity:
    return run_parity(cases, [DENSE, *planted])


def changed(name: str, by: float, sequence: int = 0) -> Implementation:
    """Return an implementation that is off by a part of one sequence's largest value."""

    def wrong(problem: Problem, lens: list[int], scale: float) -> mx.array:
        out = right(problem, lens, scale)
        out[sequence, 0, 0] += by * mx.abs(out[sequence]).max()
        return out

    return Implementation(name, wrong)


def test_what_is_right_is_within_its_bounds() -> None:
    done = run(Implementation("paged", right))
    dense, paged = done.outcomes
    assert (dense.subject, paged.subject) == ("sdpa", "paged")
    assert dense.apart is None
    assert paged.error is not None
    assert 0 < paged.error <= 1e-5
    assert paged.apart is not None
    assert paged.apart <= paged.apart_bound == 2e-5
    assert done.breaches == ()


@pytest.mark.parametrize(("by", "breach"), [(5e-6, False), (2e-5, True), (1.0, True)])
def test_an_error_beyond_the_bound_is_a_breach(by: float, *, breach: bool) -> None:
    done = run(changed("planted", by, sequence=2))
    outcome = done.outcomes[1]
    assert outcome.error == pytest.approx(by, rel=0.5)
    assert outcome.breach is breach


def test_a_distance_from_dense_attention_beyond_its_bound_is_a_breach() -> None:
    near, far = (
        Outcome("case", "paged", 9e-6, 1e-5, apart=apart, apart_bound=2e-5)
        for apart in (2e-5, 2.1e-5)
    )
    assert (near.breach, far.breach) == (False, True)


def test_what_is_not_a_number_is_a_breach() -> None:
    def nan(problem: Problem, _: list[int], __: float) -> mx.array:
        return problem.q * mx.nan

    done = run(Implementation("planted", nan))
    assert done.worst is done.outcomes[1]
    plain = parity_document(done)
    assert plain["breaches"] == 1
    assert plain["outcomes"][1]["error"] is None
    assert plain["outcomes"][1]["failure"] == "the result is not finite"
    json.dumps(plain, allow_nan=False)


def test_one_that_raises_is_a_breach_with_its_words() -> None:
    def broken(*_: object) -> mx.array:
        raise ValueError("no such  kernel")  # two blanks

    outcome = run(Implementation("planted", broken)).outcomes[1]
    assert outcome.breach
    assert outcome.failure == "ValueError: no such kernel"
    assert outcome.error is None


def test_another_shape_is_a_breach() -> None:
    def short(problem: Problem, *_: object) -> mx.array:
        return problem.q[:1]

    outcome = run(Implementation("planted", short)).outcomes[1]
    assert outcome.failure == "its shape is [1, 8, 64] and not [3, 8, 64]"


def test_an_empty_sequence_must_be_zeros_in_paged_attention() -> None:
    def ones(problem: Problem, lens: list[int], scale: float) -> mx.array:
        out = right(problem, lens, scale)
        out[1] = mx.ones_like(out[1])
        return out

    sound, planted = (
        run(Implementation("planted", one), cases=(EMPTY,)).outcomes[1] for one in (right, ones)
    )
    assert not sound.breach
    assert planted.breach


def test_the_command_that_repeats_has_its_seed_and_the_emulation() -> None:
    done = run(changed("large", 1.0))
    seeded = Parity(done.outcomes, 7, emulated=True, backend="cpu")
    assert seeded.worst is not None
    assert repeat(seeded.worst, seeded).endswith("--subject large --seed 7 --emulate")


def test_a_row_for_each_implementation_and_type() -> None:
    done = run(changed("planted", 1.0), cases=(CASE, EMPTY))
    table = rows(done)
    assert [(row[0], row[1], row[2]) for row in table] == [
        ("sdpa", "float32", "1"),
        ("planted", "float32", "1"),
        ("sdpa", "float16", "1"),
        ("planted", "float16", "1"),
    ]
    assert table[0][4:] == ("1e-05", "", "", "ok")
    assert table[1][6:] == ("2e-05", "1 of 1 breach")


def test_an_interrupt_keeps_the_cases_that_ran() -> None:
    def stop(problem: Problem, lens: list[int], scale: float) -> mx.array:
        if problem.dtype == mx.float16:
            raise KeyboardInterrupt
        return right(problem, lens, scale)

    done = run(Implementation("planted", stop), cases=(CASE, EMPTY, CASE))
    assert done.interrupted
    assert [one.case for one in done.outcomes] == [CASE.name, CASE.name]


@on_the_cpu
def test_kernels_need_metal_or_the_emulation() -> None:
    assert [one.name for one in chosen_implementations(emulate=False)] == ["sdpa", "paged"]
    assert [one.name for one in chosen_implementations(emulate=True)] == [
        *("sdpa", "paged", "paged-grouped", "paged-split", "paged-per-head", "paged-barriers"),
    ]


@pytest.mark.emulator
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to run Metal on the CPU")
@pytest.mark.parametrize("name", ["paged-grouped", "paged-split", "paged-per-head"])
def test_the_metal_kernels_agree_on_the_cpu(name: str, compiled_kernels: object) -> None:
    done = run_parity(
        (EMPTY, Case("float16", 64, 16, lengths="seven")),
        chosen_implementations([name], emulate=True),
        emulate=True,
    )
    assert [one.subject for one in done.outcomes] == ["sdpa", name] * 2
    assert done.breaches == ()
