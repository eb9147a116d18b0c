"""Every question, answered for kernels that are right and for kernels broken on purpose."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, ToolError
from tracekit.lab.msl.lint import find_clang
from tracekit.lab.msl.program import Order
from tracekit.lab.verification.check import check_subjects, load
from tracekit.lab.verification.verify import Outcome, Question, Verification, verify

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

Write = Callable[..., Path]
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
DEFECT, NOT_CHECKED = Outcome.DEFECT, Outcome.NOT_CHECKED


def _judged(file: Path, orders: tuple[Order, ...] = tuple(Order)) -> Verification:
    (subject,) = check_subjects(load(file), {"dtype": "float32"}, 0)
    return verify(subject, orders)


def _outcomes(found: Verification) -> dict[Question, Outcome]:
    assert [one.question for one in found.verdicts] == list(Question)
    return {one.question: one.outcome for one in found.verdicts}


def _detail(found: Verification, question: Question) -> str:
    return next(one.detail for one in found.verdicts if one.question is question)


def test_a_good_kernel_passes_every_question(row_sums: Write) -> None:
    found = _judged(row_sums())
    assert found.defects == ()
    outcomes = _outcomes(found)
    assert outcomes.pop(Question.ADDRESS_SPACES) in {Outcome.PASSED, NOT_CHECKED}
    assert set(outcomes.values()) == {Outcome.PASSED}
    assert found.kernels == ("custom_kernel_row_sum__float_100_float_float",)
    assert _detail(found, Question.SYNCHRONISATION).startswith("4 barriers and 8 simd operations")
    (x, out) = found.traffic
    assert (x.buffer, x.loaded, x.stored, x.touched) == ("x", 1600, 0, 1600)
    assert (out.buffer, out.loaded, out.stored, out.touched) == ("out", 0, 16, 16)


def test_a_missing_barrier_shows_in_the_orders(row_sums: Write) -> None:
    found = _judged(row_sums(BARRIER, ""))
    outcomes = _outcomes(found)
    assert outcomes[Question.ORDERS] is DEFECT
    assert outcomes[Question.WRITTEN] is DEFECT
    assert outcomes[Question.ERROR] is DEFECT
    assert outcomes[Question.SYNCHRONISATION] is Outcome.PASSED


def test_a_divergent_barrier_is_told_with_its_line(row_sums: Write) -> None:
    found = _judged(row_sums(BARRIER, f"if (lane > 5) {BARRIER}"))
    outcomes = _outcomes(found)
    assert outcomes.pop(Question.SYNCHRONISATION) is DEFECT
    assert outcomes.pop(Question.COMPILES) is Outcome.PASSED
    assert outcomes.pop(Question.ADDRESS_SPACES) is not DEFECT
    assert set(outcomes.values()) == {NOT_CHECKED}
    (one,) = found.defects
    assert "divergent threadgroup_barrier" in one.detail
    assert one.detail.endswith("(order ascending)")
    assert any("if (lane > 5) threadgroup_barrier" in line for line in one.excerpt)


def test_a_kernel_that_leaves_its_buffers_never_runs_unwatched(row_sums: Write) -> None:
    (one,) = _judged(row_sums("out[row] =", "out[row + 100000000] =")).defects
    assert one.question is Question.BOUNDS
    assert "of buffer 'out'" in one.detail


def test_a_text_that_does_not_compile_is_a_defect_at_its_place(row_sums: Write) -> None:
    found = _judged(row_sums("sum = simd_sum(sum);", "sum = simd_sum(sum"))
    one = found.defects[0]
    assert one.question is Question.COMPILES
    assert "row_sum.metal:" in one.detail
    assert any("sum = simd_sum(sum" in line for line in one.excerpt)
    rest = list(_outcomes(found).values())[2:]
    assert set(rest) == {NOT_CHECKED}


def test_an_address_space_mixed_up_is_a_defect_although_it_runs(row_sums: Write) -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)
    found = _judged(
        row_sums("    if (lane == 0) {", "    device float* z = partial; if (lane == 0) {")
    )
    (one,) = found.defects
    assert one.question is Question.ADDRESS_SPACES
    assert one.detail.startswith(
        "row_sum.metal:22:19: cannot initialize a variable of type 'device"
    )
    assert one.excerpt[-1].endswith("^")


def test_without_clang_address_spaces_are_not_checked(
    row_sums: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
    assert compiler is not None
    monkeypatch.setenv("CXX", compiler)
    file = row_sums()
    verify(next(iter(check_subjects(load(file), {}, 0))))  # compiled, and kept
    find_clang.cache_clear()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found = verify(next(iter(check_subjects(load(file), {}, 0))))
    find_clang.cache_clear()
    assert _outcomes(found)[Question.ADDRESS_SPACES] is NOT_CHECKED
    assert "no clang here" in _detail(found, Question.ADDRESS_SPACES)


def test_a_function_that_looks_at_its_results_can_be_judged_in_part(row_sums: Write) -> None:
    """Such a function cannot be traced: its text is known only where it ran to its end."""
    file = row_sums("lambda: sums(x)", "lambda: mx.array(np.array(sums(x)))")
    assert _judged(file).defects == ()
    broken = file.read_text().replace(BARRIER, f"if (lane > 5) {BARRIER}")
    file.write_text(broken)
    outcomes = _outcomes(_judged(file))
    assert outcomes[Question.SYNCHRONISATION] is DEFECT
    assert outcomes[Question.ADDRESS_SPACES] is NOT_CHECKED


def test_a_check_without_kernels_is_told(row_sums: Write) -> None:
    declared = load(row_sums("lambda: sums(x)", "lambda: x.sum(1)"))
    (subject,) = check_subjects(declared, {"dtype": "float32"}, 0)
    with pytest.raises(InputError, match="launches no kernel"):
        verify(subject)


def test_a_check_that_raises_is_told(row_sums: Write) -> None:
    file = row_sums("x = mx.random", "x = 1 / 0; x = mx.random")
    with pytest.raises(InputError, match="row-sums fails: ZeroDivisionError"):
        list(check_subjects(load(file), {}, 0))


PARTLY = "if (lane < 40) sum = simd_sum(sum);"


def test_lanes_may_leave_an_operation_out_where_metal_lets_them(row_sums: Write) -> None:
    file = row_sums("sum = simd_sum(sum);", PARTLY)
    (strict,) = check_subjects(load(file), {"dtype": "float32"}, 0)
    (lenient,) = check_subjects(load(file), {"dtype": "float32"}, 0, lenient=True)
    assert [one.question for one in verify(strict).defects] == [Question.SYNCHRONISATION]
    assert Question.SYNCHRONISATION not in {one.question for one in verify(lenient).defects}


def test_a_kernel_of_a_module_beside_the_check_runs_here(row_sums: Write, tmp_path: Path) -> None:
    whole = row_sums().read_text()
    module, _, declared = whole.partition("@check(")
    (tmp_path / "beside_the_check.py").write_text(module)
    head = "from beside_the_check import *\nfrom beside_the_check import Check, check\n"
    row_sums().write_text(f"{head}\n@check({declared}")
    assert _judged(tmp_path / "row_sums.py").defects == ()
