"""Shipped kernels: each has a check that it passes, and whatever is broken on purpose is found."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import mlx.core as mx
import pytest

from small_kernels import EMULATED
from tracekit.base.errors import ToolError
from tracekit.base.files import find_shipped_folder
from tracekit.lab.msl.emulation import generated
from tracekit.lab.msl.lint import Lint, find_clang, lint
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification.check import check_subjects
from tracekit.lab.verification.shipped import shipped_check, shipped_names
from tracekit.lab.verification.verify import (
    ProofOutcome,
    VerifiedCase,
    all_written,
    orders_agree,
    verify,
    within_bound,
)

pytestmark = EMULATED

Change = Callable[[str], str]
BARRIER = re.compile(r"threadgroup_barrier\([^;]*;")
# Cases in which every barrier has something to guard: all heads do not fit the scratch at once,
# there are more tokens than simdgroups, rows are longer than a threadgroup.
CASES: dict[str, dict[str, Any]] = {
    "paged-decode": {
        "dtype": "float32", "head_dim": "256", "block_size": 16, "kv_heads": 1, "group": 4,
        "hd_tile": 8, "partitions": 1,
    },
    "paged-decode-per-head": {"dtype": "float32", "head_dim": "64", "block_size": 16},
    "paged-decode-barriers": {"dtype": "float32", "head_dim": "256", "block_size": 16},
    "rmsnorm-linear": {"dtype": "float32", "rows": 5, "dims": 600, "out_dims": 40},
}  # fmt: skip


def _text(name: str) -> str:
    return (find_shipped_folder("kernels") / f"{name.replace('-', '_')}.metal").read_text()


BARRIERS = [(name, number) for name in CASES for number in range(len(BARRIER.findall(_text(name))))]


def _subject(name: str) -> VerifiedCase:
    (subject,) = check_subjects(shipped_check(name), CASES[name], 0)
    return subject


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Change the body of every kernel that is made from now on."""
    make: Any = mx.fast.metal_kernel

    def make_changed_kernel(to: Change, **options: Any) -> Any:
        body = to(options["source"])
        assert body != options["source"], "the change changes nothing"
        return make(**{**options, "source": body})

    return lambda to: monkeypatch.setattr(mx.fast, "metal_kernel", partial(make_changed_kernel, to))


def test_every_kernel_has_its_check_and_is_broken_here() -> None:
    files = {file.stem.replace("_", "-") for file in find_shipped_folder("kernels").glob("*.metal")}
    assert {name for name in files if BARRIER.search(_text(name))} == {name for name, _ in BARRIERS}
    # the merge is launched by another's check
    assert files - {"paged-merge"} == set(shipped_names()), "see lab/verification/shipped.py"


@pytest.mark.parametrize("name", shipped_names())
def test_each_kernel_is_right_and_loads_its_share(name: str) -> None:
    subjects = list(check_subjects(shipped_check(name), {"dtype": "bfloat16"}, 0))
    verification = verify(subjects[-1])  # the last is the one of several partitions, or odd sizes
    assert verification.defects == ()
    assert verification.traffic != ()


@pytest.mark.parametrize("name", shipped_names())
def test_address_spaces_are_clean_in_every_case(name: str) -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)
    texts = {
        (kernel.text, kernel.function, kernel.template)
        for case in shipped_check(name).cases({})
        for kernel in generated(shipped_check(name).check(case).run)
    }
    assert texts
    assert {lint(*text) for text in texts} == {Lint((), ())}


@pytest.mark.parametrize(("name", "number"), BARRIERS)
def test_a_barrier_less_is_seen(change: Callable[[Change], None], name: str, number: int) -> None:
    def without(body: str) -> str:
        barrier = list(BARRIER.finditer(body))[number]
        return f"{body[: barrier.start()]};{body[barrier.end() :]}"

    change(without)
    subject = _subject(name)
    answers = {order.value: subject.launch(order, False).arrays for order in ThreadOrder}
    verdicts = (
        orders_agree(answers),
        all_written(answers, subject.expected),
        within_bound(answers, subject.expected, subject.bound),
    )
    assert ProofOutcome.DEFECT in {verdict.outcome for verdict in verdicts}


LENGTH = "context_lens[sequence]"


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("paged-decode", "block_tables + ", "block_tables + 1 + "),
        ("paged-decode", "k_pages + at", "k_pages + 8 + at"),
        ("paged-decode", LENGTH, f"{LENGTH} + 1"),
        ("paged-decode", "out[row", "out[1 + row"),
        ("paged-decode-per-head", "v_pages[at + d]", "v_pages[at + d + 1]"),
        ("paged-decode-barriers", LENGTH, "context_lens[sequence ^ 1]"),
        ("rmsnorm-linear", "float(gain[k])", "float(gain[k + 1])"),
        ("rmsnorm-linear", "buffer = 1 - buffer;", ""),
        ("rmsnorm-linear", "column < outputs)", "column <= outputs)"),
    ],
)
def test_an_index_off_by_one_is_seen(
    change: Callable[[Change], None], name: str, right: str, wrong: str
) -> None:
    change(lambda body: body.replace(right, wrong))
    assert verify(_subject(name), (ThreadOrder.ASCENDING,)).defects != ()
