"""Shipped kernels broken on purpose: whatever is broken must be found."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.files import shipped
from tracekit.lab.msl.program import Order
from tracekit.lab.verification.check import (
    Check,
    Declared,
    check_subjects,
)
from tracekit.lab.verification.shipped import shipped_check, trapped
from tracekit.lab.verification.verify import (
    Outcome,
    Question,
    Subject,
    all_written,
    orders_agree,
    verify,
    within_bound,
)
from tracekit.ops.attention.metal import Kernel, paged_decode, plan
from tracekit.ops.attention.problem import Problem

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

Change = Callable[[str], str]
BARRIER = re.compile(r"threadgroup_barrier\([^;]*;")
# Cases in which every barrier has something to guard: all heads do not fit the scratch at once,
# there are more tokens than simdgroups, rows are longer than a threadgroup.
CASES: dict[str, dict[str, Any]] = {
    "paged-decode": {
        "dtype": "float32",
        "head_dim": "256",
        "block_size": 16,
        "kv_heads": 1,
        "group": 4,
        "hd_tile": 8,
        "partitions": 1,
    },
    "paged-decode-per-head": {"dtype": "float32", "head_dim": "64", "block_size": 16},
    "paged-decode-barriers": {"dtype": "float32", "head_dim": "256", "block_size": 16},
    "rmsnorm-linear": {"dtype": "float32", "rows": 5, "dims": 600, "out_dims": 40},
}


def _text(name: str) -> str:
    return (shipped("kernels") / f"{name.replace('-', '_')}.metal").read_text()


BARRIERS = [(name, number) for name in CASES for number in range(len(BARRIER.findall(_text(name))))]


def _subject(name: str) -> Subject:
    (subject,) = check_subjects(shipped_check(name), CASES[name], 0)
    return subject


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Change the body of every kernel that is made from now on."""
    make: Any = mx.fast.metal_kernel

    def changed(to: Change, **given: Any) -> Any:
        body = to(given["source"])
        assert body != given["source"], "the change changes nothing"
        return make(**{**given, "source": body})

    return lambda to: monkeypatch.setattr(mx.fast, "metal_kernel", partial(changed, to))


def _nth(number: int, new: Change, body: str) -> str:
    found = list(BARRIER.finditer(body))[number]
    return body[: found.start()] + new(found[0]) + body[found.end() :]


def test_every_kernel_with_a_barrier_is_broken_here() -> None:
    files = {one.stem.replace("_", "-") for one in shipped("kernels").glob("*.metal")}
    assert {name for name in files if BARRIER.search(_text(name))} == {one for one, _ in BARRIERS}


@pytest.mark.parametrize(("name", "number"), BARRIERS)
def test_a_barrier_less_is_seen(change: Callable[[Change], None], name: str, number: int) -> None:
    change(partial(_nth, number, lambda _: ";"))
    subject = _subject(name)
    answers = {order.value: subject.launch(order, False).arrays for order in Order}
    outcomes = {
        orders_agree(answers).outcome,
        all_written(answers, subject.expected).outcome,
        within_bound(answers, subject.expected, subject.bound).outcome,
    }
    assert Outcome.DEFECT in outcomes


@pytest.mark.parametrize("name", CASES)
def test_a_barrier_that_some_never_reach_is_seen(
    change: Callable[[Change], None], name: str
) -> None:
    last = len(BARRIER.findall(_text(name))) - 1
    some = "if (thread_position_in_threadgroup.x >= 32) {{ {} }}"
    change(partial(_nth, last, some.format))
    (found,) = verify(_subject(name)).defects
    assert found.question is Question.SYNCHRONISATION
    assert "divergent threadgroup_barrier" in found.detail


LENGTH = "context_lens[sequence]"
WRONG = {
    "the next page": ("paged-decode", "block_tables + ", "block_tables + 1 + "),
    "the next key": ("paged-decode", "k_pages + at", "k_pages + 8 + at"),
    "the next value": ("paged-decode-per-head", "v_pages[at + d]", "v_pages[at + d + 1]"),
    "a token too many": ("paged-decode", LENGTH, f"{LENGTH} + 1"),
    "a token too few": ("paged-decode", LENGTH, f"max(0, {LENGTH} - 1)"),
    "another length": ("paged-decode-barriers", LENGTH, "context_lens[sequence ^ 1]"),
    "the next output": ("paged-decode", "out[row", "out[1 + row"),
    "the next gain": ("rmsnorm-linear", "float(gain[k])", "float(gain[k + 1])"),
    "one buffer of two": ("rmsnorm-linear", "buffer = 1 - buffer;", ""),
    "a row too many": ("rmsnorm-linear", "first_row + r < rows", "first_row + r <= rows"),
    "a column too many": ("rmsnorm-linear", "column < outputs)", "column <= outputs)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_index_off_by_one_is_seen(change: Callable[[Change], None], what: str) -> None:
    name, right, wrong = WRONG[what]
    change(lambda body: body.replace(right, wrong))
    assert verify(_subject(name)).defects != ()


def _with_page(kernel: Kernel, page: int) -> Check:
    """Return a check in which one page that is used has another number."""
    problem = trapped("float16", 64, 16, 1, 2)
    tables = np.array(problem.block_tables)
    tables[5, 2] = page
    wrong = Problem(
        problem.q, problem.k_pages, problem.v_pages, mx.array(tables), problem.context_lens
    )
    how = plan(wrong, kernel=kernel)
    run = partial(paged_decode, wrong, scale=0.125, how=how)
    return Check(run=run, expected=np.zeros(problem.q.shape), bound=1.0)


@pytest.mark.parametrize("kernel", ["grouped", "per-head", "barriers"])
@pytest.mark.parametrize("page", [10**6, 28, -1])
def test_a_page_that_is_not_there_is_seen(kernel: Kernel, page: int) -> None:
    declared = Declared("page", Path(__file__), partial(_with_page, kernel))
    (subject,) = check_subjects(declared, {"page": page}, 0)
    (found,) = verify(subject).defects
    assert found.question is Question.BOUNDS
    assert re.search(r"of buffer '[kv]_pages' \(57344 bytes\)", found.detail)
