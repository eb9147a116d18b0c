"""Checks, and every question answered of kernels that are right and that are broken on purpose."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import InputError, ToolError, UsageError
from tracekit.lab.msl.lint import find_clang
from tracekit.lab.msl.program import Order
from tracekit.lab.verification.check import Check, check_subjects, load
from tracekit.lab.verification.verify import Outcome, Question, Verification, verify

emulated = pytest.mark.emulator
pytestmark = pytest.mark.usefixtures("compiled_kernels")

Write = Callable[..., Path]
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
DEFECT, NOT_CHECKED = Outcome.DEFECT, Outcome.NOT_CHECKED
HEAD = "from tracekit.lab import Check, check\nimport numpy as np\n"
GOOD = """
@check(each={"size": (1, 2), "dtype": ("float16", "float32")})
def doubled_rows(size: int = 1, dtype: str = "float16", seed: int = 0) -> Check:
    return Check(run=lambda: np.ones(size), expected=np.ones(size), bound=0)
"""


def _file(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(HEAD + text)
    return file


def test_every_case_of_a_check_is_tried_unless_one_is_chosen(tmp_path: Path) -> None:
    declared = load(_file(tmp_path, GOOD))
    assert declared.name == "doubled-rows"
    made = declared.check({"size": 3})
    assert (made.run().shape, made.loaded) == ((3,), {})
    halves = {"size": 5, "dtype": "float16"}
    assert declared.cases({"size": 5}) == [halves, {"size": 5, "dtype": "float32"}]
    assert len(declared.cases({})) == 4
    assert declared.cases({**halves, "seed": 1}) == [{**halves, "seed": 1}]
    bare = "@check\ndef one() -> Check:\n    return Check(lambda: 1, 1, 0)\n"
    assert load(_file(tmp_path, bare)).cases({}) == [{}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 functions marked @check"),
        (GOOD + GOOD.replace("doubled_rows", "other"), "has 2 functions marked @check"),
        ("import nothing_of_this_name\n", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit\n", "cannot be loaded: SystemExit"),
        ("def f(:\n", "cannot be loaded: SyntaxError"),
        ("@check\ndef one():\n    return 7\n", "returned int, which is no Check"),
    ],
)
def test_a_file_without_one_check_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(_file(tmp_path, text)).check({})


@pytest.mark.parametrize("bound", ["1e-5", None, -1e-9, float("nan"), float("inf")])
def test_a_bound_that_is_none_is_one_sentence(bound: object) -> None:
    with pytest.raises(UsageError, match="bound of a check must be a number of at least 0; it is"):
        Check(lambda: 1, 1, bound)
    assert Check(lambda: 1, 1, np.float32(0)).bound == 0


def _judged(file: Path, orders: tuple[Order, ...] = tuple(Order), **how: bool) -> Verification:
    (subject,) = check_subjects(load(file), {"dtype": "float32"}, 0, **how)
    return verify(subject, orders)


def _outcomes(found: Verification) -> dict[Question, Outcome]:
    assert [verdict.question for verdict in found.verdicts] == list(Question)
    return {verdict.question: verdict.outcome for verdict in found.verdicts}


def _detail(found: Verification, question: Question) -> str:
    return next(verdict.detail for verdict in found.verdicts if verdict.question is question)


@emulated
def test_a_good_kernel_passes_every_question(row_sums: Write) -> None:
    found = _judged(row_sums())
    outcomes = _outcomes(found)
    assert outcomes.pop(Question.ADDRESS_SPACES) in {Outcome.PASSED, NOT_CHECKED}
    assert set(outcomes.values()) == {Outcome.PASSED}
    assert found.kernels == ("custom_kernel_row_sum__float_100_float_float",)
    assert _detail(found, Question.SYNCHRONISATION).startswith("4 barriers and 8 simd operations")
    (x, out) = found.traffic
    assert (x.buffer, x.loaded, x.stored, x.touched) == ("x", 1600, 0, 1600)
    assert (out.buffer, out.loaded, out.stored, out.touched) == ("out", 0, 16, 16)
    alone = _judged(row_sums(), (Order.RANDOM,))
    assert _outcomes(alone)[Question.ORDERS] is NOT_CHECKED


@emulated
def test_a_missing_barrier_shows_in_the_orders(row_sums: Write) -> None:
    outcomes = _outcomes(_judged(row_sums(BARRIER, "")))
    assert {question for question, outcome in outcomes.items() if outcome is DEFECT} == {
        Question.ORDERS,
        Question.WRITTEN,
        Question.ERROR,
    }


@emulated
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
def test_what_stops_a_kernel_is_a_defect_at_its_place(
    row_sums: Write, old: str, new: str, question: Question, said: str, line: str
) -> None:
    found = _judged(row_sums(old, new))
    defect = next(verdict for verdict in found.defects if verdict.question is question)
    assert said in defect.detail
    assert defect.detail.endswith("(order ascending)") is (question is not Question.COMPILES)
    assert any(line in shown for shown in defect.excerpt)
    outcomes = _outcomes(found)
    for known in (Question.COMPILES, Question.ADDRESS_SPACES):
        assert outcomes.pop(known) is not NOT_CHECKED or known is Question.ADDRESS_SPACES
    outcomes.pop(question, None)
    assert set(outcomes.values()) == {NOT_CHECKED}


@emulated
def test_an_address_space_mixed_up_is_a_defect_although_it_runs(row_sums: Write) -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)
    mixed = "    device float* z = partial; if (lane == 0) {"
    (defect,) = _judged(row_sums("    if (lane == 0) {", mixed), (Order.RANDOM,)).defects
    assert defect.question is Question.ADDRESS_SPACES
    assert defect.detail.startswith("row_sum.metal:22:19: cannot initialize a variable of type ")
    assert defect.excerpt[-1].endswith("^")


@emulated
def test_without_clang_address_spaces_are_not_checked(
    row_sums: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
    monkeypatch.setenv("CXX", str(compiler))
    file = row_sums()
    _judged(file)  # compiled, and kept
    find_clang.cache_clear()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found = _judged(file)
    find_clang.cache_clear()
    assert _outcomes(found)[Question.ADDRESS_SPACES] is NOT_CHECKED
    assert "no clang here" in _detail(found, Question.ADDRESS_SPACES)


@emulated
def test_a_function_that_looks_at_its_results_can_be_judged_in_part(row_sums: Write) -> None:
    """Such a function cannot be traced: its text is known only where it ran to its end."""
    file = row_sums("lambda: sums(x)", "lambda: mx.array(np.array(sums(x)))")
    assert _judged(file).defects == ()
    file.write_text(file.read_text().replace(BARRIER, f"if (lane > 5) {BARRIER}"))
    outcomes = _outcomes(_judged(file))
    assert outcomes[Question.SYNCHRONISATION] is DEFECT
    assert outcomes[Question.ADDRESS_SPACES] is NOT_CHECKED


@emulated
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lambda: sums(x)", "lambda: x.sum(1)", "launches no kernel"),
        ("x = mx.random", "x = 1 / 0; x = mx.random", "row-sums fails: ZeroDivisionError"),
        ("expected=expected", "expected=expected[:2]", r"shapes \[\[4\]\], and expects \[\[2\]\]"),
    ],
)
def test_a_mistake_of_a_check_is_one_sentence(
    row_sums: Write, old: str, new: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        _judged(row_sums(old, new))


@emulated
def test_lanes_may_leave_an_operation_out_where_metal_lets_them(row_sums: Write) -> None:
    file = row_sums("sum = simd_sum(sum);", "if (lane < 40) sum = simd_sum(sum);")
    strict, lenient = (_judged(file, (Order.RANDOM,), lenient=value) for value in (False, True))
    assert [defect.question for defect in strict.defects] == [Question.SYNCHRONISATION]
    assert _outcomes(lenient)[Question.SYNCHRONISATION] is Outcome.PASSED


@emulated
def test_a_kernel_of_a_module_beside_the_check_runs_here(row_sums: Write, tmp_path: Path) -> None:
    module, _, declared = row_sums().read_text().partition("@check(")
    (tmp_path / "beside_the_check.py").write_text(module)
    head = "from beside_the_check import *\nfrom beside_the_check import Check, check\n"
    (tmp_path / "row_sums.py").write_text(f"{head}\n@check({declared}")
    assert _judged(tmp_path / "row_sums.py").defects == ()
