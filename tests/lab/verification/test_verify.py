"""Every question: on literal answers, and of kernels that are right and broken on purpose."""

from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import InputError, ToolError
from tracekit.lab.msl.compiler import find_compiler
from tracekit.lab.msl.lint import find_clang
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification import verify as verifying
from tracekit.lab.verification.check import check_subjects, load
from tracekit.lab.verification.verify import (
    MovedBytes,
    ProofOutcome,
    ProofVerdict,
    Question,
    Verification,
    all_written,
    arrays,
    error_and_place,
    loaded_as_modelled,
    orders_agree,
    verify,
    within_bound,
)

Write = Callable[..., Path]
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
PASSED, DEFECT, NOT_CHECKED = ProofOutcome
NAN, INF = np.nan, np.inf


def _make_outputs(*values: float) -> tuple[np.ndarray, ...]:
    return (np.array(values),)


def test_arrays_of_mlx_lose_no_bit() -> None:
    floats, integers = arrays([mx.array([1.0, 1e-3], mx.bfloat16), mx.array([[1, 2]])])
    assert (floats.dtype, floats.tolist()) == (np.float64, [1, 0.00099945068359375])
    assert (integers.dtype, integers.tolist()) == (np.int32, [[1, 2]])
    assert [array.tolist() for array in arrays(mx.array(1.5, mx.float16))] == [1.5]


def test_errors_are_shares_of_the_largest_magnitude() -> None:
    for got, expected, error in (
        ([1.0, 2.2], [1.0, 2.0], 0.1),
        ([1.0, -4.0], [1.5, -4.0], 0.125),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
        ([NAN, 1.0], [1.0, 1.0], INF),
        ([INF, 1.0], [1.0, 1.0], INF),
        ([1.0, 1.0], [NAN, 1.0], INF),
        ([NAN, INF, 1.0], [NAN, INF, 1.0], 0.0),
        ([-INF, 1.0], [INF, 1.0], INF),
        ([], [], 0.0),
    ):
        assert error_and_place(np.array(got), np.array(expected))[0] == pytest.approx(error), got


NEAR = np.nextafter(1.0, 2.0)
UNEQUAL = "1 of 2 elements differ between up and down, the first at [1]"
WRITTEN = {"ascending": _make_outputs(1, 2)}
OFF = WRITTEN | {"random": _make_outputs(1, 3)}
MOVED = [MovedBytes("k", "x", 10, 9, 9), MovedBytes("j", "x", 20, 9, 9)]


def test_a_verdict_on_literal_answers() -> None:
    for judge, arguments, outcome, detail in (
        # one bit is a difference between orders
        (
            orders_agree,
            [{"up": _make_outputs(1, NAN), "down": _make_outputs(1, NAN)}],
            PASSED,
            "up, down",
        ),
        (
            orders_agree,
            [{"random": _make_outputs(1)}],
            NOT_CHECKED,
            "only the order random was run",
        ),
        (
            *(
                orders_agree,
                [
                    {
                        "up": _make_outputs(5, 1),
                        "random": _make_outputs(5, 1),
                        "down": _make_outputs(5, NEAR),
                    }
                ],
            ),
            *(DEFECT, f"{UNEQUAL}: "),
        ),
        (
            *(
                orders_agree,
                [
                    {
                        "up": _make_outputs(5, 1) * 2,
                        "down": (*_make_outputs(5, 1), *_make_outputs(5, NEAR)),
                    }
                ],
            ),
            *(DEFECT, f"{UNEQUAL} of output 1: "),
        ),
        # NaN is memory that nobody wrote
        (
            *(all_written, [WRITTEN | {"random": _make_outputs(1, NAN)}]),
            *(DEFECT, "1 of 2 elements are NaN in the order random, the first at [1]"),
        ),
        (all_written, [{"random": _make_outputs(1, NAN)}, _make_outputs(1, NAN)], PASSED, ""),
        (
            all_written,
            [{"random": _make_outputs(1, NAN)}, _make_outputs(NAN, 1)],
            DEFECT,
            "1 of 2 elements are NaN",
        ),
        (all_written, [{"random": (np.array([1, 2]),)}], NOT_CHECKED, "the outputs are not float"),
        # the worst order and place are named
        (
            within_bound,
            [OFF, _make_outputs(1, 2), 1e-3],
            DEFECT,
            "0.5 of 0.001 allowed, at [1], order ran",
        ),
        (within_bound, [OFF, _make_outputs(1, 2), 0.5], PASSED, "0.5 of 0.5 allowed"),
        (within_bound, [WRITTEN, (), 0.0], NOT_CHECKED, "there is nothing to compare with"),
        # bytes loaded are summed over launches
        (loaded_as_modelled, [MOVED, {}], NOT_CHECKED, "no model"),
        (loaded_as_modelled, [MOVED, {"x": 30}], PASSED, "as modelled: x"),
        (loaded_as_modelled, [MOVED, {"x": 29, "y": 0}], DEFECT, "x: 30 instead of 29"),
        (loaded_as_modelled, [MOVED, {"y": 1}], DEFECT, "y: 0 instead of 1"),
    ):
        verdict = judge(*arguments)  # pyright: ignore[reportArgumentType]
        assert verdict.outcome is outcome, (judge, arguments)
        assert verdict.detail.startswith(detail), (judge, arguments)


def test_arrays_of_other_shapes_are_a_mistake_of_the_check() -> None:
    with pytest.raises(InputError, match=r"shapes \[\[2\]\], and expects \[\[3\]\]"):
        within_bound(WRITTEN, _make_outputs(1, 2, 3), 1)
    with pytest.raises(InputError, match=r"shapes \[\[1\]\], and expects \[\[1\], \[1\]\]"):
        within_bound({"ascending": _make_outputs(1)}, (*_make_outputs(1), *_make_outputs(2)), 1)


def test_full_and_short_reports(golden: Callable[..., None]) -> None:
    good = Verification(
        "sums",
        {"dtype": "float16", "head_dim": 64},
        ("k",),
        (ProofVerdict(Question.COMPILES, PASSED, "1 kernel"), ProofVerdict(Question.ENDS, PASSED)),
        (MovedBytes("k", "x", 2048, 0, 1024), MovedBytes("k", "out", 0, 4, 4)),
    )
    stopped, defect = "it was stopped", ("out of x", ("7 | x[i]", "  | ^"))
    bad = (
        ProofVerdict(Question.COMPILES, PASSED, ""),
        ProofVerdict(Question.ADDRESS_SPACES, NOT_CHECKED, stopped),
        ProofVerdict(Question.BOUNDS, DEFECT, *defect),
        ProofVerdict(Question.ERROR, NOT_CHECKED, stopped),
        ProofVerdict(Question.TRAFFIC, NOT_CHECKED, "there is no model"),
    )
    verifications = (good, Verification("sums", {}, (), bad))
    lines = [
        line
        for verification in verifications
        for line in (*verification.describe(), *verification.summarize())
    ]
    golden("words.txt", "\n".join(lines) + "\n")


def _verify_file(
    file: Path, orders: tuple[ThreadOrder, ...] = tuple(ThreadOrder), **how: bool
) -> Verification:
    (subject,) = check_subjects(load(file), {"dtype": "float32"}, 0, **how)
    return verify(subject, orders)


def _outcomes(verification: Verification) -> dict[Question, ProofOutcome]:
    assert [verdict.question for verdict in verification.verdicts] == list(Question)
    return {verdict.question: verdict.outcome for verdict in verification.verdicts}


def _detail(verification: Verification, question: Question) -> str:
    return next(verdict.detail for verdict in verification.verdicts if verdict.question is question)


def test_a_good_kernel_passes_every_question(row_sums: Write) -> None:
    verification = _verify_file(row_sums())
    outcomes = _outcomes(verification)
    assert outcomes.pop(Question.ADDRESS_SPACES) in {PASSED, NOT_CHECKED}
    assert set(outcomes.values()) == {PASSED}
    kernel = "custom_kernel_row_sum__float_100_float_float"
    assert verification.kernels == (kernel,)
    assert _detail(verification, Question.SYNCHRONISATION).startswith(
        "4 barriers and 8 simd operations"
    )
    assert verification.traffic == (
        MovedBytes(kernel, "x", 1600, 0, 1600),
        MovedBytes(kernel, "out", 0, 16, 16),
    )
    alone = _verify_file(row_sums(), (ThreadOrder.RANDOM,))
    assert _outcomes(alone)[Question.ORDERS] is NOT_CHECKED


def test_a_missing_barrier_shows_in_the_orders(row_sums: Write) -> None:
    defects = _verify_file(row_sums(BARRIER, "")).defects
    assert [defect.question for defect in defects] == [
        *(Question.ORDERS, Question.WRITTEN, Question.ERROR)
    ]


@pytest.mark.parametrize(
    ("old", "new", "question", "said", "line"),
    [
        (
            *(BARRIER, f"if (lane > 5) {BARRIER}", Question.SYNCHRONISATION),
            *("divergent threadgroup_barrier", "if (lane > 5) threadgroup_barrier"),
        ),
        # such a kernel never runs unwatched
        ("out[row] =", "out[row + 100000000] =", Question.BOUNDS, "of buffer 'out'", "out[row + "),
        (
            *("sum = simd_sum(sum);", "sum = simd_sum(sum", Question.COMPILES),
            *("row_sum.metal:", "sum = simd_sum(sum"),
        ),
    ],
)
def test_an_error_that_stops_a_kernel_is_a_defect_at_its_place(
    row_sums: Write, old: str, new: str, question: Question, said: str, line: str
) -> None:
    verification = _verify_file(row_sums(old, new))
    defect = next(verdict for verdict in verification.defects if verdict.question is question)
    assert said in defect.detail
    assert defect.detail.endswith("(order ascending)") is (question is not Question.COMPILES)
    assert any(line in excerpt_line for excerpt_line in defect.excerpt)
    outcomes = _outcomes(verification)
    del outcomes[Question.ADDRESS_SPACES]  # clang judges what it can, if there is one
    expected_outcomes = {Question.COMPILES: PASSED, question: DEFECT}
    assert outcomes == dict.fromkeys(outcomes, NOT_CHECKED) | expected_outcomes


def test_an_address_space_mixed_up_is_a_defect_although_it_runs(row_sums: Write) -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)
    mixed = "    device float* z = partial; if (lane == 0) {"
    (defect,) = _verify_file(row_sums("    if (lane == 0) {", mixed), (ThreadOrder.RANDOM,)).defects
    assert defect.question is Question.ADDRESS_SPACES
    assert defect.detail.startswith("row_sum.metal:22:19: cannot initialize a variable of type ")
    assert defect.excerpt[-1].endswith("^")


def test_without_clang_address_spaces_are_not_checked(
    row_sums: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", find_compiler().path)
    file = row_sums()
    _verify_file(file)  # compiled, and kept
    monkeypatch.setenv("PATH", str(tmp_path))
    verification = _verify_file(file)
    assert _outcomes(verification)[Question.ADDRESS_SPACES] is NOT_CHECKED
    assert "no clang here" in _detail(verification, Question.ADDRESS_SPACES)


def test_a_function_that_looks_at_its_results_can_be_judged_in_part(row_sums: Write) -> None:
    """Such a function cannot be traced: its text is known only where it ran to its end."""
    file = row_sums("lambda: sums(x)", "lambda: mx.array(np.array(sums(x)))")
    assert _verify_file(file).defects == ()
    file.write_text(file.read_text().replace(BARRIER, f"if (lane > 5) {BARRIER}"))
    outcomes = _outcomes(_verify_file(file))
    assert outcomes[Question.SYNCHRONISATION] is DEFECT
    assert outcomes[Question.ADDRESS_SPACES] is NOT_CHECKED


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lambda: sums(x)", "lambda: x.sum(1)", "launches no kernel"),
        ("x = mx.random", "x = 1 / 0; x = mx.random", "row-sums fails: ZeroDivisionError"),
        ("expected=expected", "expected=expected[:2]", r"shapes \[\[4\]\], and expects \[\[2\]\]"),
    ],
)
def test_a_mistaken_check_is_one_sentence(row_sums: Write, old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _verify_file(row_sums(old, new))


def test_lanes_may_leave_an_operation_out_where_metal_lets_them(row_sums: Write) -> None:
    file = row_sums("sum = simd_sum(sum);", "if (lane < 40) sum = simd_sum(sum);")
    strict, lenient = (
        _verify_file(file, (ThreadOrder.RANDOM,), lenient=value) for value in (False, True)
    )
    assert [defect.question for defect in strict.defects] == [Question.SYNCHRONISATION]
    assert _outcomes(lenient)[Question.SYNCHRONISATION] is PASSED


def test_a_kernel_of_a_neighbouring_module_runs(row_sums: Write, tmp_path: Path) -> None:
    module, _, declared = row_sums().read_text().partition("@check(")
    (tmp_path / "beside_the_check.py").write_text(module)
    head = "from beside_the_check import *\nfrom beside_the_check import Check, check\n"
    (tmp_path / "row_sums.py").write_text(f"{head}\n@check({declared}")
    assert _verify_file(tmp_path / "row_sums.py").defects == ()


def test_an_error_is_not_judged_by_the_name_of_its_file() -> None:
    for message, question in (
        ("divergent.metal: access of memory beyond buffer 'out'", Question.BOUNDS),
        ("divergent.metal did not end within 1 s and was stopped.", Question.ENDS),
        ("k.metal writes outside the buffer 'out'.", Question.BOUNDS),
        ("k.metal: divergent threadgroup_barrier at line 3", Question.SYNCHRONISATION),
    ):
        assert verifying._blamed_question(message) is question, message  # pyright: ignore[reportPrivateUsage]
