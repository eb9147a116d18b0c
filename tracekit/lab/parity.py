"""Parity: paged attention against dense attention, and both against float64, over a grid."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import mlx.core as mx
import msgspec

from tracekit.base import UsageError, require, tolerances
from tracekit.lab.msl.compiler import find_compiler
from tracekit.lab.msl.emulation import emulation
from tracekit.ops import (
    HEAD_DIMS,
    DecodeProblem,
    draw_problem,
    nan_past_ends,
    paged,
    planning,
    reference_of,
)
from tracekit.ops import dense as ops_dense
from tracekit.record import Progress, quiet
from tracekit.workload import backend, parameters, threadgroups

Lengths = Literal["ragged", "one", "full", "edges", "empty", "seven", "eight", "long"]


class Heads(NamedTuple):
    """Query heads, and heads of K and V."""

    q: int
    kv: int


SHARED = Heads(8, 2)
OTHER_HEADS = (Heads(4, 4), Heads(8, 4), Heads(8, 1), Heads(6, 2), Heads(16, 2))
_BLOCKS = 4  # that a sequence has
_LONG_BLOCKS = 48


@dataclass(frozen=True)
class ParityCase:
    """One decode call in the grid.

    `lengths` are "ragged", "one" token, a "full" table, the "edges" of pages, an "empty" sequence
    among others, batches of "seven" and "eight" (which MLX binds differently), and contexts "long"
    enough for several partitions. A `quick` case belongs to the short grid.
    """

    dtype: str
    head_dim: int
    block_size: int
    heads: Heads = SHARED
    lengths: Lengths = "ragged"
    quick: bool = False

    @property
    def name(self) -> str:
        """The value of `--case`."""
        heads = f"q{self.heads.q}-kv{self.heads.kv}"
        return f"{self.dtype}-d{self.head_dim}-b{self.block_size}-{heads}-{self.lengths}"

    @property
    def lens(self) -> list[int]:
        """Tokens of each sequence."""
        page = self.block_size
        lengths = {
            "ragged": [1, page + 3, 2 * page - 1, _BLOCKS * page],
            "one": [1],
            "full": [_BLOCKS * page] * 2,
            "edges": [page - 1, page, page + 1],
            "empty": [page, 0, 5],
            "seven": [page + number for number in range(7)],
            "eight": [page + number for number in range(8)],
            "long": [_LONG_BLOCKS * page - 5, 17],
        }
        return lengths[self.lengths]

    def problem(self, seed: int) -> DecodeProblem:
        """Draw the call, with NaN past the end of each sequence."""
        most_blocks = _LONG_BLOCKS if self.lengths == "long" else _BLOCKS
        drawn = draw_problem(
            self.lens,
            q_heads=self.heads.q,
            kv_heads=self.heads.kv,
            head_dim=self.head_dim,
            block_size=self.block_size,
            max_blocks=most_blocks,
            dtype=getattr(mx, self.dtype),
            seed=seed,
        )
        return nan_past_ends(drawn)


def _grid() -> tuple[ParityCase, ...]:
    quick_shapes = {(64, 16), (128, 32)}
    _, *other_lengths = get_args(Lengths)  # the first, ragged ones, have every shape
    cases: list[ParityCase] = []
    for dtype in parameters.DTYPES:
        for head_dim, block_size in itertools.product(HEAD_DIMS, planning.BLOCK_SIZES):
            quick = (head_dim, block_size) in quick_shapes
            cases.append(ParityCase(dtype, head_dim, block_size, quick=quick))
        cases += [ParityCase(dtype, 128, 32, heads) for heads in OTHER_HEADS]
        for lengths in other_lengths:
            cases.append(ParityCase(dtype, 64, 16, SHARED, lengths, quick=True))
    return tuple(cases)


GRID = _grid()
"""Every type with each head size and page size; then other heads, then other lengths."""


def find_cases(names: Iterable[str]) -> tuple[ParityCase, ...]:
    """Return cases by their names; raise UsageError, with the nearest one, for an unknown name."""
    cases_by_name = {case.name: case for case in GRID}
    for name in names:
        list_hint = "`tracekit kernel parity --list` lists them."
        require(name, cases_by_name, "case", otherwise=list_hint)
    return tuple(cases_by_name[name] for name in names)


# From a problem, the lengths of its sequences and the scale to `[batch, q_heads, head_dim]`.
Attend = Callable[[DecodeProblem, list[int], float], mx.array]


@dataclass(frozen=True)
class Implementation:
    """One way to attend.

    A `kernel` needs Metal or the emulation. Paged implementations are compared with the `dense`
    one, which gives nothing for an empty sequence.
    """

    name: str
    attend: Attend
    kernel: bool = False
    dense: bool = False


def _dense(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
    """Attend as MLX does to contiguous keys and values, with a mask for the padding."""
    longest = max(lens)
    keys, values = ops_dense.gather_pages(problem, longest)
    batch_lens = problem.context_lens[: problem.batch]
    mask = ops_dense.padding_mask(batch_lens, keys.shape[2])
    rows_mask = mask.swapaxes(2, 3)
    zero = mx.array(0, problem.dtype)
    keys = mx.where(rows_mask, keys, zero)
    values = mx.where(rows_mask, values, zero)
    attended = ops_dense.sdpa(problem.q[:, :, None], keys, values, scale=scale, mask=mask)
    return attended[:, :, 0]


def _make_paged(kernel: planning.Kernel | None = None, partitions: int | None = None) -> Attend:
    def call(problem: DecodeProblem, lens: list[int], scale: float) -> mx.array:
        longest = max(lens)
        how = None
        if kernel is not None:
            how = planning.plan(problem, longest=longest, kernel=kernel, partitions=partitions)
        return paged.attend(problem, scale=scale, longest=longest, how=how)

    return call


IMPLEMENTATIONS = (
    Implementation("sdpa", _dense, dense=True),
    Implementation("paged", _make_paged()),
    Implementation("paged-grouped", _make_paged("grouped"), kernel=True),
    Implementation("paged-split", _make_paged("grouped", 3), kernel=True),
    Implementation("paged-per-head", _make_paged("per-head"), kernel=True),
    Implementation("paged-barriers", _make_paged("barriers"), kernel=True),
)


def chosen_implementations(
    names: Iterable[str] = (), *, emulate: bool
) -> tuple[Implementation, ...]:
    """Return the implementations of these names and dense attention; without names, all.

    Kernels are left out where they cannot run: they need Metal, or `emulate`.

    Raises UsageError for an unknown name, and for a kernel that cannot run here.
    """
    kernels = emulate or backend() == "metal"
    by_name = {implementation.name: implementation for implementation in IMPLEMENTATIONS}
    for name in names:
        require(name, by_name, "subject")
        if by_name[name].kernel and not kernels:
            raise UsageError(
                f"{name} is a Metal kernel, and MLX finds no Metal on this machine.",
                hint="--emulate runs Metal kernels on the CPU.",
            )
    implementations: list[Implementation] = []
    for implementation in IMPLEMENTATIONS:
        can_run = kernels or not implementation.kernel
        is_wanted = implementation.dense or not names or implementation.name in names
        if can_run and is_wanted:
            implementations.append(implementation)
    return tuple(implementations)


_BOTH = 2  # of two results that may be off by a bound each


@dataclass(frozen=True)
class ParityOutcome:
    """The result of one implementation on one case.

    `error` is relative and against float64, None if the call raised. `apart` is the relative
    distance from dense attention, None for dense attention itself or if one of both raised. Its
    bound is twice the other, as both may be off.
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
        error_share = self.error / self.bound
        if self.apart is None:
            return error_share
        return max(error_share, self.apart / self.apart_bound)

    @property
    def breach(self) -> bool:
        """Whether a bound is exceeded, or nothing came out."""
        return not self.share <= 1


@dataclass(frozen=True)
class Parity:
    """The result of the grid: an outcome for each case and implementation.

    If it was `interrupted`, cases are missing.
    """

    outcomes: tuple[ParityOutcome, ...]
    seed: int
    emulated: bool
    backend: str
    interrupted: bool = False

    @property
    def breaches(self) -> tuple[ParityOutcome, ...]:
        """The outcomes that exceed a bound."""
        return tuple(outcome for outcome in self.outcomes if outcome.breach)

    @property
    def worst(self) -> ParityOutcome | None:
        """The outcome that comes nearest to its bound, or exceeds it most."""
        return max(self.outcomes, key=lambda outcome: outcome.share, default=None)


def run_parity(
    cases: Sequence[ParityCase],
    implementations: Sequence[Implementation],
    *,
    seed: int = 0,
    emulate: bool = False,
    progress: Progress = quiet,
) -> Parity:
    """Run every implementation, dense ones first, on every case; an interrupt keeps the outcomes.

    Raises ToolError if kernels are to be emulated, and there is no compiler.
    """
    if emulate and any(implementation.kernel for implementation in implementations):
        find_compiler()
    outcomes: list[ParityOutcome] = []
    stopped = False
    try:
        for number, case in enumerate(cases):
            progress(f"{number + 1} of {len(cases)} · {case.name}")
            outcomes += _compare_case(case, implementations, seed, emulate=emulate)
    except KeyboardInterrupt:
        stopped = True
    return Parity(tuple(outcomes), seed, emulate, backend(), stopped)


def _compare_case(
    case: ParityCase, implementations: Sequence[Implementation], seed: int, *, emulate: bool
) -> list[ParityOutcome]:
    problem = case.problem(seed)
    scale = problem.head_dim**-0.5
    bound = tolerances.BOUNDS[case.dtype]
    expected = reference_of(problem, scale=scale)
    # Dense attention has no answer for a sequence of no tokens.
    filled_sequences = [number for number, length in enumerate(case.lens) if length]
    dense: tolerances.Floats | None = None
    outcomes: list[ParityOutcome] = []
    for implementation in implementations:
        failure = ""
        got = expected
        try:
            with emulation() if emulate and implementation.kernel else nullcontext():
                got = tolerances.as_float64(implementation.attend(problem, case.lens, scale))
        except Exception as error:  # noqa: BLE001  one that raises is an outcome
            words = " ".join(str(error).split())
            failure = (
                f"{type(error).__name__}: {words} {threadgroups.advise_threadgroup(words)}".rstrip()
            )
        if got.shape != expected.shape:
            failure = f"its shape is {list(got.shape)} and not {list(expected.shape)}"
        if failure:
            outcomes.append(
                ParityOutcome(case.name, implementation.name, None, bound, failure=failure)
            )
            continue
        apart = None
        if implementation.dense:
            dense = got
            error = tolerances.relative_error(got[filled_sequences], expected[filled_sequences])
        else:
            if dense is not None:
                apart = tolerances.relative_error(got[filled_sequences], dense[filled_sequences])
            error = tolerances.relative_error(got, expected)
        outcome = ParityOutcome(case.name, implementation.name, error, bound, apart, _BOTH * bound)
        outcomes.append(outcome)
    return outcomes


VERSION = 1
COLUMNS = ("subject", "dtype", "cases", "error", "bound", "from dense", "bound", "verdict")


def rows(parity: Parity) -> list[tuple[str, ...]]:
    """Return a row for each implementation and type: its worst errors, and the bounds."""
    groups: defaultdict[tuple[str, str], list[ParityOutcome]] = defaultdict(list)
    for outcome in parity.outcomes:
        dtype = outcome.case.partition("-")[0]
        groups[outcome.subject, dtype].append(outcome)
    return [_row(subject, dtype, outcomes) for (subject, dtype), outcomes in groups.items()]


def _row(subject: str, dtype: str, outcomes: Sequence[ParityOutcome]) -> tuple[str, ...]:
    bound = tolerances.BOUNDS[dtype]
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    distances = [outcome.apart for outcome in outcomes if outcome.apart is not None]
    distance_bound = ""
    if distances:
        distance_bound = f"{_BOTH * bound:g}"
    breaches = sum(outcome.breach for outcome in outcomes)
    verdict = "ok"
    if breaches:
        verdict = f"{breaches} of {len(outcomes)} breach"
    worst_error = error_words(max(errors, default=None))
    worst_distance = error_words(max(distances, default=None))
    return (
        subject,
        dtype,
        str(len(outcomes)),
        worst_error,
        f"{bound:g}",
        worst_distance,
        distance_bound,
        verdict,
    )


def error_words(error: float | None) -> str:
    """Return an error in words: "1.2e-04", or "not finite" for an infinite one."""
    if error is None:
        return ""
    if error == float("inf"):
        return "not finite"
    return f"{error:.1e}"


def repeat(outcome: ParityOutcome, parity: Parity) -> str:
    """Return the command line that runs one outcome again."""
    command = f"tracekit kernel parity --case {outcome.case} --subject {outcome.subject}"
    if parity.seed:
        command += f" --seed {parity.seed}"
    if parity.emulated:
        command += " --emulate"
    return command


@dataclass(frozen=True)
class DescribedOutcome:
    """A `ParityOutcome` as in the JSON: an infinite number is null, with a failure in words."""

    case: str
    subject: str
    error: float | None
    bound: float
    apart: float | None
    apart_bound: float
    failure: str
    breach: bool


@dataclass(frozen=True)
class WorstOutcome:
    """The case and the implementation that come nearest to their bound, or exceed it most."""

    case: str
    subject: str


@dataclass(frozen=True)
class ParityDocument:
    """The JSON of `tracekit kernel parity`.

    `norm` says how errors are measured, and `bounds` has the largest one by element type.
    `breaches` counts the outcomes that exceed a bound, and `repeat` is the command that runs the
    worst one again.
    """

    norm: str
    bounds: Mapping[str, float]
    backend: str
    emulated: bool
    seed: int
    interrupted: bool
    breaches: int
    worst: WorstOutcome | None
    repeat: str | None
    outcomes: tuple[DescribedOutcome, ...]
    kind: str = "parity"
    version: int = VERSION


def parity_document(parity: Parity) -> dict[str, Any]:
    """Return everything as plain values; an infinite number is null, with a failure in words."""
    worst = parity.worst
    worst_outcome = None
    repeated_command = None
    if worst is not None:
        worst_outcome = WorstOutcome(worst.case, worst.subject)
        repeated_command = repeat(worst, parity)
    document = ParityDocument(
        norm=tolerances.NORM,
        bounds=dict(tolerances.BOUNDS),
        backend=parity.backend,
        emulated=parity.emulated,
        seed=parity.seed,
        interrupted=parity.interrupted,
        breaches=len(parity.breaches),
        worst=worst_outcome,
        repeat=repeated_command,
        outcomes=tuple(_describe_outcome(outcome) for outcome in parity.outcomes),
    )
    plain_values: dict[str, Any] = msgspec.to_builtins(document)
    return plain_values


def _describe_outcome(outcome: ParityOutcome) -> DescribedOutcome:
    failure = outcome.failure
    if math.inf in {outcome.error, outcome.apart}:
        failure = failure or "the result is not finite"
    return DescribedOutcome(
        case=outcome.case,
        subject=outcome.subject,
        error=_finite(outcome.error),
        bound=outcome.bound,
        apart=_finite(outcome.apart),
        apart_bound=outcome.apart_bound,
        failure=failure,
        breach=outcome.breach,
    )


def _finite(number: float | None) -> float | None:
    if number == math.inf:
        return None
    return number
