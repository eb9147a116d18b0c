"""All questions asked of one subject, in a harmless order, and their answers in words.

Two things become subjects: a check, whose own code launches kernels, and a kernel of a file.

Watched accesses come first: a kernel that leaves its buffers must not run unwatched.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import mlx.core as mx
import numpy as np

from tracekit.base import InputError, KernelError, ToolError
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.lint import excerpt, find_clang, lint
from tracekit.lab.msl.program import Array, Launched, ThreadOrder


class ProofOutcome(StrEnum):
    """How a question was answered."""

    PASSED = "passed"
    DEFECT = "defect"
    NOT_CHECKED = "not checked"


PASSED, DEFECT, NOT_CHECKED = ProofOutcome


class Question(StrEnum):
    """What is asked of every kernel, in this order."""

    COMPILES = "compiles"
    ADDRESS_SPACES = "address spaces"
    SYNCHRONISATION = "barriers and simd operations"
    BOUNDS = "accesses in bounds"
    ENDS = "runs to its end"
    ORDERS = "same answer in all orders"
    WRITTEN = "no NaN of unwritten memory"
    ERROR = "error within its bound"
    TRAFFIC = "bytes loaded"


@dataclass(frozen=True)
class ProofVerdict:
    """The answer to one question: the finding in words, or why nothing could be found."""

    question: Question
    outcome: ProofOutcome
    detail: str = ""
    excerpt: tuple[str, ...] = ()


@dataclass(frozen=True)
class MovedBytes:
    """Bytes that a launch moved of one buffer.

    `loaded` and `stored` count every access of every thread; `touched` counts each byte once.
    """

    kernel: str
    buffer: str
    loaded: int
    stored: int
    touched: int


@dataclass(frozen=True)
class Verification:
    """All that was found of one kernel in one case.

    `kernels` are the functions that were launched, in running order; there is a verdict to every
    question, and bytes moved launch by launch where they were counted.
    """

    name: str
    parameters: Mapping[str, Any]
    kernels: tuple[str, ...]
    verdicts: tuple[ProofVerdict, ...]
    traffic: tuple[MovedBytes, ...] = field(default=())

    @property
    def defects(self) -> tuple[ProofVerdict, ...]:
        """The verdicts that found something."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is DEFECT)


PATIENCE = 60.0
"""Seconds that one launch may take: kernels that never end are a defect to find, too."""


@dataclass(frozen=True, eq=False)
class KernelOutput:
    """What came out of one run: arrays that can be computed with, and the launches."""

    arrays: tuple[Array, ...]
    launches: tuple[Launched, ...]


Launch = Callable[[ThreadOrder, bool], KernelOutput]
Sources = Callable[[], Sequence[KernelText]]


@dataclass(frozen=True, eq=False)
class VerifiedCase:
    """A case to verify; for what must come out see `Check`.

    `launch` runs it in an order of threads; its flag asks for bounds and bytes to be watched.
    `sources` returns the kernels that would run, without running them. `expected` is empty where
    what must come out is not known.
    """

    name: str
    parameters: Mapping[str, Any]
    launch: Launch
    sources: Sources
    expected: tuple[Array, ...] = ()
    bound: float = 0.0
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])


NOT_PROVEN = (
    "that Apple's compiler accepts the text, which was compiled as C++",
    "that it is fast: nothing was timed",
    "that the threads of a simdgroup do not race between two simd operations",
    "that threadgroups do not race over device memory",
    "what fast math rounds differently",
)
_BLAMED = (
    ("cannot compile", Question.COMPILES),
    ("divergent", Question.SYNCHRONISATION),
    ("access of", Question.BOUNDS),
    ("access through", Question.BOUNDS),
)
_UNENDED = "did not end"


def verify(
    subject: VerifiedCase, orders: Sequence[ThreadOrder] = tuple(ThreadOrder)
) -> Verification:
    """Answer every question about a subject; what could not be asked says why.

    Raises:
        ToolError: There is no compiler here, or it cannot be run.
        UsageError: The kernel needs what a CPU has not, or its buffers do not fit it.
        InputError: The check itself is mistaken.
    """
    answers: dict[str, tuple[Array, ...]] = {}
    order = orders[0]
    try:
        watched = subject.launch(order, True)
        for order in orders:
            answers[order] = subject.launch(order, False).arrays
    except KernelError as error:
        return _report_stop(subject, error, order)
    launches = watched.launches
    barriers = sum(launch.statistics.barriers for launch in launches)
    operations = sum(launch.statistics.simd_operations for launch in launches)
    kernels = tuple(launch.kernel.function for launch in launches)
    count = len(set(kernels))
    met = f"{barriers:,} barriers and {operations:,} simd operations, each met by all"
    moved = tuple(
        MovedBytes(launch.kernel.function, name, traffic.loaded, traffic.stored, traffic.touched)
        for launch in launches
        for name, traffic in launch.statistics.traffic.items()
    )
    error = within_bound(answers, subject.expected, subject.bound)  # first: it compares shapes
    verdicts = (
        ProofVerdict(Question.COMPILES, PASSED, f"{count} kernel{'s' if count != 1 else ''}"),
        address_spaces([launch.kernel for launch in launches]),
        ProofVerdict(Question.SYNCHRONISATION, PASSED, met),
        ProofVerdict(Question.BOUNDS, PASSED, "every access to a buffer was watched"),
        ProofVerdict(Question.ENDS, PASSED),
        orders_agree(answers),
        all_written(answers, subject.expected),
        error,
        loaded_as_modelled(moved, subject.loaded),
    )
    return Verification(subject.name, subject.parameters, kernels, verdicts, moved)


def _report_stop(subject: VerifiedCase, error: KernelError, order: ThreadOrder) -> Verification:
    """Return what is known of a kernel that did not come to its end."""
    head, *lines = error.message.splitlines()
    question = next((to for words, to in _BLAMED if words in head), Question.ENDS)
    if question is Question.COMPILES and lines:
        head, *lines = lines
    words = head if question is Question.COMPILES else f"{head.rstrip(':.')} (order {order})"
    if _UNENDED in head:
        lines.append("--patience SECONDS gives a launch longer.")
    defect = ProofVerdict(question, DEFECT, words, tuple(lines))
    skip_reason = (
        "the kernel does not compile" if question is Question.COMPILES else "it was stopped"
    )
    try:
        spaces = address_spaces(subject.sources())
    except InputError as reason:
        spaces = ProofVerdict(Question.ADDRESS_SPACES, NOT_CHECKED, reason.message)
    known_verdicts = {
        verdict.question: verdict for verdict in (ProofVerdict(Question.COMPILES, PASSED), spaces)
    }
    known_verdicts[question] = defect
    verdicts = [
        known_verdicts.get(proof_question, ProofVerdict(proof_question, NOT_CHECKED, skip_reason))
        for proof_question in Question
    ]
    return Verification(subject.name, subject.parameters, (), tuple(verdicts))


def address_spaces(kernels: Sequence[KernelText]) -> ProofVerdict:
    """Let clang judge each text, if there is a clang that can."""
    question = Question.ADDRESS_SPACES
    try:
        clang = find_clang()
    except ToolError as error:
        return ProofVerdict(question, NOT_CHECKED, error.message)
    doubts: list[str] = []
    unlike = {(kernel.text, kernel.function, kernel.template): kernel for kernel in kernels}
    for kernel in unlike.values():
        lint_result = lint(kernel.text, kernel.function, kernel.template)
        if lint_result.defects:
            first_line, *lines = excerpt(kernel.text, lint_result.defects)
            line, _, details = first_line.partition(":")
            file, file_line = kernel.locate_line(int(line))
            return ProofVerdict(question, DEFECT, f"{file}:{file_line}:{details}", tuple(lines))
        doubts += [f"{doubt.message} (line {doubt.line})" for doubt in lint_result.unknown]
    if doubts:
        return ProofVerdict(question, NOT_CHECKED, f"clang cannot judge all: {doubts[0]}")
    return ProofVerdict(question, PASSED, clang)


def loaded_as_modelled(moved: Sequence[MovedBytes], model: Mapping[str, int]) -> ProofVerdict:
    """Compare the bytes loaded of buffers, over all launches, with what a model says."""
    question = Question.TRAFFIC
    if not model:
        return ProofVerdict(question, NOT_CHECKED, "no model says how many there should be")
    there = Counter[str]()
    for traffic in moved:
        there[traffic.buffer] += traffic.loaded
    wrong = [
        f"{name}: {there[name]:,} instead of {expected_bytes:,}"
        for name, expected_bytes in model.items()
        if there[name] != expected_bytes
    ]
    if wrong:
        return ProofVerdict(question, DEFECT, "; ".join(wrong))
    return ProofVerdict(question, PASSED, f"as modelled: {', '.join(model)}")


def case(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the name and the chosen parameters, as they would be given again."""
    options = (f"--{key.replace('_', '-')} {value}" for key, value in parameters.items())
    return " ".join([name, *options])


def in_short(verification: Verification) -> Iterator[str]:
    """Return a line that counts the answers, then what was not found well, and where."""
    counts = Counter(verdict.outcome for verdict in verification.verdicts)
    tally = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ProofOutcome if counts[outcome])
    yield f"{case(verification.name, verification.parameters)}: {tally}"
    for verdict in verification.defects:
        yield from _lines(verdict)


def in_full(verification: Verification) -> Iterator[str]:
    """Return every answer, the kernels that were launched, and the bytes that they moved."""
    yield case(verification.name, verification.parameters)
    for verdict in verification.verdicts:
        if verdict.outcome is not NOT_CHECKED:
            yield from _lines(verdict)
    unasked = [gap for gap in verification.verdicts if gap.outcome is NOT_CHECKED]
    for reason in dict.fromkeys(gap.detail for gap in unasked):
        questions = ", ".join(gap.question for gap in unasked if gap.detail == reason)
        yield f"  not checked, because {reason}: {questions}"
    for moved in verification.traffic:
        again = f", {moved.loaded / moved.touched:.1f} loads of a byte" if moved.touched else ""
        yield (
            f"  {moved.kernel}, {moved.buffer}: {moved.loaded:,} bytes loaded, {moved.stored:,} "
            f"stored, {moved.touched:,} touched{again if moved.loaded else ''}"
        )


def _lines(verdict: ProofVerdict) -> Iterator[str]:
    mark = "ok" if verdict.outcome is PASSED else "DEFECT"
    yield f"  {verdict.question:<30}{mark:<8}{verdict.detail}".rstrip()
    yield from (f"      {line}" for line in verdict.excerpt)


Answers = Mapping[str, Sequence[Array]]  # the arrays that came out, by the order of threads


def arrays(result: Any) -> tuple[Array, ...]:
    """Return what a function gave as numpy's arrays: float64 for floats, else as they are."""
    values = result if isinstance(result, list | tuple) else (result,)
    return tuple(_convert_to_numpy(value) for value in values)


def _convert_to_numpy(array: Any) -> Array:
    if isinstance(array, mx.array) and array.dtype == mx.bfloat16:  # which numpy lacks
        array = array.astype(mx.float32)
    numpy_array = np.asarray(array)
    return numpy_array.astype(np.float64) if numpy_array.dtype.kind == "f" else numpy_array


def orders_agree(answers: Answers) -> ProofVerdict:
    """Say whether the same bits came out, whatever the order in which threads ran."""
    question = Question.ORDERS
    (first_order, reference), *other_answers = answers.items()
    if not other_answers:
        return ProofVerdict(question, NOT_CHECKED, f"only the order {first_order} was run")
    for order, got in other_answers:
        for number, (array, other_array) in enumerate(zip(reference, got, strict=True)):
            equal_mask = (array == other_array) | ((array != array) & (other_array != other_array))  # noqa: PLR0124  NaN
            if not equal_mask.all():
                place = _place(np.argwhere(~equal_mask)[0], number, len(got))
                return ProofVerdict(
                    question,
                    DEFECT,
                    f"{np.count_nonzero(~equal_mask)} of {equal_mask.size} elements differ "
                    f"between {first_order} "
                    f"and {order}, the first at {place}: a barrier is missing, or threads race.",
                )
    return ProofVerdict(question, PASSED, ", ".join(answers))


def all_written(answers: Answers, expected: Sequence[Array] = ()) -> ProofVerdict:
    """Say whether NaN came out where none is expected; memory is full of NaN before a launch."""
    question = Question.WRITTEN
    for order, got in answers.items():
        for number, output in enumerate(got):
            there = np.isnan(expected[number]) if expected else np.zeros(output.shape, bool)
            strange = np.isnan(output) & ~there if output.dtype.kind == "f" else np.zeros((), bool)
            if strange.any():
                place = _place(np.argwhere(strange)[0], number, len(got))
                return ProofVerdict(
                    question,
                    DEFECT,
                    f"{np.count_nonzero(strange)} of {output.size} elements are NaN in the order "
                    f"{order}, the first at {place}: never written, or computed of memory that "
                    "was never written.",
                )
    if not any(array.dtype.kind == "f" for got in answers.values() for array in got):
        reason = "the outputs are no floating-point numbers: none can be NaN"
        return ProofVerdict(question, NOT_CHECKED, reason)
    return ProofVerdict(question, PASSED)


def within_bound(answers: Answers, expected: Sequence[Array], bound: float) -> ProofVerdict:
    """Say whether every answer is as near to what is expected as the check demands.

    Raises InputError if arrays of other shapes came out.
    """
    question, worst, worst_place = Question.ERROR, 0.0, ""
    if not expected:
        return ProofVerdict(question, NOT_CHECKED, "there is nothing to compare with")
    for order, got in answers.items():
        ours, theirs = ([list(array.shape) for array in outputs] for outputs in (got, expected))
        if ours != theirs:
            raise InputError(
                f"The check runs to arrays of the shapes {ours}, and expects {theirs}.",
                hint="`run` and `expected` must have as many arrays, of the same shapes.",
            )
        for number, (array, expected_array) in enumerate(zip(got, expected, strict=True)):
            error, place = error_and_place(array, expected_array)
            if error > worst:
                worst, worst_place = error, f"at {_place(place, number, len(got))}, order {order}"
    measured = f"{worst:.2g} of {bound:g} allowed"
    if worst <= bound:
        return ProofVerdict(question, PASSED, measured)
    return ProofVerdict(question, DEFECT, f"{measured}, {worst_place}")


def error_and_place(got: Array, expected: Array) -> tuple[float, Array]:
    """Return the largest error as a share of the largest finite magnitude expected, and where.

    The share is of the whole array, as nobody knows which axis is that of sequences, and of 1 where
    nothing but zeros is expected. NaN and infinity count as right where they are expected,
    elsewhere as infinitely wrong.
    """
    if got.size == 0:
        return 0.0, np.zeros(got.ndim, int)
    ours, theirs = got.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(theirs[np.isfinite(theirs)])
    largest = float(finite.max()) if finite.size else 0.0
    equal_mask = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        off = np.where(equal_mask, 0.0, np.abs(ours - theirs))
    off = np.nan_to_num(off, nan=np.inf, posinf=np.inf)
    place = np.unravel_index(int(np.argmax(off)), off.shape)
    return float(off[place]) / (largest or 1.0), np.array(place)


def _place(index: Array, number: int, output_count: int) -> str:
    place = f"[{', '.join(str(coordinate) for coordinate in index)}]"
    return f"{place} of output {number}" if output_count > 1 else place
