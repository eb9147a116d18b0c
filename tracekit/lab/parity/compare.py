"""Running the grid: errors against float64, and against dense attention."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tracekit.base.tolerances import BOUNDS, Floats, as_float64, relative_error
from tracekit.lab.msl.compiler import find_compiler
from tracekit.lab.msl.emulation import emulation
from tracekit.lab.parity.cases import Case
from tracekit.lab.parity.implementations import Implementation
from tracekit.ops.attention.problem import Problem
from tracekit.ops.attention.reference import reference_of
from tracekit.record.recorder import Progress, quiet

_BOTH = 2  # of two results that may be off by a bound each


@dataclass(frozen=True)
class Outcome:
    """One implementation on one case.

    Attributes:
        case: The case's name.
        subject: The implementation's name.
        error: Relative error against float64; None if it raised.
        bound: What it may be.
        apart: Relative distance from dense attention; None for dense attention itself, or where
            one of both raised.
        apart_bound: What it may be: twice the bound, as both may be off.
        failure: What was raised; empty if nothing was.
    """

    case: str
    subject: str
    error: float | None
    bound: float
    apart: float | None = None
    apart_bound: float = 0.0
    failure: str = ""

    @property
    def share(self) -> float:
        """The larger of error and distance, each as a part of its bound: above 1 is a breach."""
        if self.failure or self.error is None:
            return float("inf")
        apart = 0.0 if self.apart is None else self.apart / self.apart_bound
        return max(self.error / self.bound, apart)

    @property
    def breach(self) -> bool:
        """Whether a bound is exceeded, or nothing came out."""
        return not self.share <= 1


@dataclass(frozen=True)
class Parity:
    """What the grid showed.

    Attributes:
        outcomes: One for each case and implementation.
        seed: The seed of all contents.
        emulated: Whether Metal kernels ran on the CPU.
        backend: Where everything else ran.
        interrupted: Whether somebody stopped it, so that cases are missing.
    """

    outcomes: tuple[Outcome, ...]
    seed: int
    emulated: bool
    backend: str
    interrupted: bool = False

    @property
    def breaches(self) -> tuple[Outcome, ...]:
        """The outcomes that exceed a bound."""
        return tuple(one for one in self.outcomes if one.breach)

    @property
    def worst(self) -> Outcome | None:
        """The outcome that comes nearest to its bound, or exceeds it most."""
        return max(self.outcomes, key=lambda one: one.share, default=None)


def run_parity(
    cases: Sequence[Case],
    implementations: Sequence[Implementation],
    *,
    backend: str,
    seed: int = 0,
    emulate: bool = False,
    progress: Progress = quiet,
) -> Parity:
    """Run every implementation on every case; an interrupt keeps what there is.

    Args:
        cases: What to run.
        implementations: Whom to compare, dense ones first.
        backend: Where MLX runs.
        seed: Seed of all contents.
        emulate: Run Metal kernels on the CPU.
        progress: Told the case.

    Raises:
        ToolError: Kernels are to be emulated, and there is no compiler.
    """
    if emulate and any(one.kernel for one in implementations):
        find_compiler()
    outcomes: list[Outcome] = []
    stopped = False
    try:
        for number, case in enumerate(cases):
            progress(f"{number + 1} of {len(cases)} · {case.name}")
            outcomes += _compared(case, implementations, seed, emulate=emulate)
    except KeyboardInterrupt:
        stopped = True
    return Parity(tuple(outcomes), seed, emulate, backend, stopped)


def _compared(
    case: Case, implementations: Sequence[Implementation], seed: int, *, emulate: bool
) -> list[Outcome]:
    problem = case.problem(seed)
    scale = problem.head_dim**-0.5
    expected = reference_of(problem, scale=scale)
    found: dict[str, Floats | str] = {}
    for one in implementations:
        with _place(one, emulate=emulate):
            found[one.name] = _result(one, problem, case.lens, scale)
    dense = next((found[one.name] for one in implementations if one.dense), None)
    return [_outcome(case, one, found, expected, dense) for one in implementations]


def _place(one: Implementation, *, emulate: bool) -> AbstractContextManager[Any]:
    return emulation() if emulate and one.kernel else nullcontext()


def _result(one: Implementation, problem: Problem, lens: list[int], scale: float) -> Floats | str:
    try:
        out = one.attend(problem, lens, scale)
        mx.eval(out)
        return as_float64(out)
    except Exception as error:  # noqa: BLE001  one that raises is an outcome
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _outcome(
    case: Case,
    one: Implementation,
    found: Mapping[str, Floats | str],
    expected: Floats,
    dense: Floats | str | None,
) -> Outcome:
    bound, got = BOUNDS[case.dtype], found[one.name]
    if isinstance(got, str):
        return Outcome(case.name, one.name, None, bound, failure=got)
    if got.shape != expected.shape:
        wrong = f"its shape is {list(got.shape)} and not {list(expected.shape)}"
        return Outcome(case.name, one.name, None, bound, failure=wrong)
    # Dense attention has no answer for a sequence of no tokens.
    there = [number for number, length in enumerate(case.lens) if length]
    everywhere = there if one.dense else slice(None)
    apart = None
    if not one.dense and dense is not None and not isinstance(dense, str):
        apart = relative_error(got[there], dense[there])
    error = relative_error(got[everywhere], expected[everywhere])
    return Outcome(case.name, one.name, error, bound, apart, _BOTH * bound)
