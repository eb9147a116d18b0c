"""Ask all questions about one subject in a harmless order, and put the answers into words.

A subject is a check, whose own code launches kernels, or a kernel of a file.

Watched accesses come first, in each order: a kernel that leaves its buffers must not run unwatched.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod
from typing import Any

import mlx.core as mx
import numpy as np

from tracekit.base import InputError, KernelError, ToolError
from tracekit.lab.msl.counting import Counted, counting
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.lint import excerpt, find_clang, lint
from tracekit.lab.msl.program import Array, Launched, ThreadOrder
from tracekit.lab.verification.barriers import (
    BARRIER_LIMITS,
    BarrierRun,
    BarrierTrial,
    judge_barriers,
    try_barriers,
)


class ProofOutcome(StrEnum):
    """How a question was answered."""

    PASSED = "passed"
    DEFECT = "defect"
    NOT_CHECKED = "not checked"


PASSED, DEFECT, NOT_CHECKED = ProofOutcome


class Question(StrEnum):
    """The questions about every kernel, in this order."""

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
    """The answer to one question: the finding in words, or the reason for no finding."""

    question: Question
    outcome: ProofOutcome
    detail: str = ""
    excerpt: tuple[str, ...] = ()


@dataclass(frozen=True)
class MovedBytes:
    """Bytes that a launch moved between a kernel and one buffer.

    `loaded` and `stored` count every access of every thread; `touched` counts each byte once.
    """

    kernel: str
    buffer: str
    loaded: int
    stored: int
    touched: int


@dataclass(frozen=True)
class CountedLaunch:
    """The exact counts of one launch of a kernel.

    `threads`, `threadgroup` and `groups` are numbers of threads, of those of a whole threadgroup,
    and of threadgroups. `threadgroup_memory` is in bytes, `barriers` the places of barriers that a
    threadgroup met, `barriers_in_loops` those that it met again, and `barriers_met` how often it
    met them in all. `simd_operations` are those of all simdgroups, `divergent_operations` those
    that some lanes skipped. `loaded` and `stored` are bytes that all threads moved, `touched` the
    bytes of buffers that they used. `operations` are those on floating-point numbers. These and the
    branches are None if they were not counted.
    """

    kernel: str
    threads: int
    threadgroup: int
    groups: int
    threadgroup_memory: int
    barriers: int
    barriers_in_loops: int
    barriers_met: int
    simd_operations: int
    divergent_operations: int
    loaded: int
    stored: int
    touched: int
    operations: int | None = None
    divergent_branches: int | None = None


@dataclass(frozen=True)
class Verification:
    """All findings about one kernel in one case.

    `kernels` are the functions that were launched, in running order. There is a verdict for every
    question, and `traffic` has the bytes moved launch by launch, if they were counted. `launches`
    has the counts of each launch, in running order; empty for a kernel that was stopped. `barriers`
    has the runs without one barrier each, if they were asked for.
    """

    name: str
    parameters: Mapping[str, Any]
    kernels: tuple[str, ...]
    verdicts: tuple[ProofVerdict, ...]
    traffic: tuple[MovedBytes, ...] = field(default=())
    launches: tuple[CountedLaunch, ...] = field(default=())
    barriers: tuple[BarrierTrial, ...] = field(default=())

    @property
    def defects(self) -> tuple[ProofVerdict, ...]:
        """The verdicts that found something."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is DEFECT)

    @property
    def title(self) -> str:
        """The name and the chosen parameters in the form of command line options."""
        return _title_of(self.name, self.parameters)

    def summarize(self) -> Iterator[str]:
        """Yield a line that counts the answers, then the defects with their places."""
        counts = Counter(verdict.outcome for verdict in self.verdicts)
        parts = [f"{counts[outcome]} {outcome}" for outcome in ProofOutcome if counts[outcome]]
        tally = ", ".join(parts)
        yield f"{self.title}: {tally}"
        for verdict in self.defects:
            yield from _lines(verdict)

    def describe(self) -> Iterator[str]:
        """Yield every answer, the kernels that were launched, and the bytes that they moved."""
        yield self.title
        questions_by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for verdict in self.verdicts:
            if verdict.outcome is NOT_CHECKED:
                questions_by_reason[verdict.detail].append(verdict.question)
            else:
                yield from _lines(verdict)
        for reason, questions in questions_by_reason.items():
            yield f"  not checked, because {reason}: {', '.join(questions)}"
        for moved in self.traffic:
            yield _describe_traffic(moved)


def _title_of(name: str, parameters: Mapping[str, Any]) -> str:
    words = [name]
    for key, value in parameters.items():
        option = key.replace("_", "-")
        words.append(f"--{option} {value}")
    return " ".join(words)


PATIENCE = 60.0
"""Seconds that one launch may take: kernels that never end are a defect to find, too."""


@dataclass(frozen=True, eq=False)
class KernelOutput:
    """The result of one run: arrays for computing, and the launches."""

    arrays: tuple[Array, ...]
    launches: tuple[Launched, ...]


Launch = Callable[[ThreadOrder, bool], KernelOutput]
Sources = Callable[[], Sequence[KernelText]]


@dataclass(frozen=True, eq=False)
class VerifiedCase:
    """A case to verify; `Check` defines the expected result.

    `launch` runs it in an order of threads; its flag asks for bounds and bytes to be watched.
    `sources` returns the kernels that would run, without running them. `expected` is empty if the
    right result is not known.
    """

    name: str
    parameters: Mapping[str, Any]
    launch: Launch
    sources: Sources
    expected: tuple[Array, ...] = ()
    bound: float = 0.0
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def title(self) -> str:
        """The name and the chosen parameters in the form of command line options."""
        return _title_of(self.name, self.parameters)


NOT_PROVEN = (
    "that Apple's compiler accepts the text, which was compiled as C++",
    "that it is fast: nothing was timed",
    "that the threads of a simdgroup do not race between two simd operations",
    "that threadgroups do not race over device memory",
    "the different rounding of fast math",
)
# Words of `lab/msl/program.py`, `lab/msl/compile.py` and the sources that these compile in.
_BLAMED = (
    ("cannot compile", Question.COMPILES),
    ("divergent", Question.SYNCHRONISATION),
    ("access of", Question.BOUNDS),
    ("access through", Question.BOUNDS),
    ("writes outside", Question.BOUNDS),
)
_UNENDED = "did not end"


def verify(
    subject: VerifiedCase,
    orders: Sequence[ThreadOrder] = tuple(ThreadOrder),
    *,
    counted: Collection[Counted] = (),
    remove_barriers: bool = False,
) -> Verification:
    """Answer every question about a subject; each question that could not be asked has a reason.

    It runs once more for each of `counted`, if there is a clang++. With `remove_barriers`, one
    without a defect runs once more without each of its barriers.

    Raises:
        ToolError: There is no compiler here, or it cannot be run.
        UsageError: The kernel needs a feature that a CPU lacks, or its buffers do not fit it.
        InputError: The check itself is mistaken.
    """
    answers: dict[str, tuple[Array, ...]] = {}
    watched_launches: dict[ThreadOrder, Sequence[Launched]] = {}
    order = orders[0]
    try:
        for order in orders:
            watched_launches[order] = subject.launch(order, True).launches
            answers[order] = subject.launch(order, False).arrays
    except KernelError as error:
        return _report_stop(subject, error, order)
    launches = watched_launches[orders[0]]
    counted_launches: dict[Counted, Sequence[Launched]] = {}
    for kind in counted:
        counted_launches[kind] = _count(kind, subject, orders[0])
    kernels = tuple(launch.kernel.function for launch in launches)
    moved = _moved_bytes(launches)
    error = within_bound(answers, subject.expected, subject.bound)  # first: it compares shapes
    compiles = ProofVerdict(Question.COMPILES, PASSED, _count_kernels(kernels))
    synchronises = ProofVerdict(Question.SYNCHRONISATION, PASSED, _describe_meetings(launches))
    stays_within = ProofVerdict(Question.BOUNDS, PASSED, "every access to a buffer was watched")
    verdicts = (
        compiles,
        address_spaces([launch.kernel for launch in launches]),
        synchronises,
        stays_within,
        ProofVerdict(Question.ENDS, PASSED),
        orders_agree(answers),
        all_written(answers, subject.expected),
        error,
        loaded_as_modelled(moved, subject.loaded),
    )
    verification = Verification(
        subject.name,
        subject.parameters,
        kernels,
        verdicts,
        moved,
        tuple(_count_launches(launches, counted_launches)),
    )
    if not remove_barriers or verification.defects:
        return verification

    def run_watched(order: ThreadOrder) -> BarrierRun:
        launch = subject.launch(order, True)
        statistics = [launched.statistics for launched in launch.launches]
        meetings = {
            "threadgroup_barrier": sum(counts.barriers for counts in statistics),
            "simdgroup_barrier": sum(counts.simd_operations for counts in statistics),
        }
        return BarrierRun(launch.arrays, meetings)

    trials = tuple(try_barriers(run_watched, [launch.kernel for launch in launches], orders))
    return replace(verification, barriers=trials)


def describe_barriers(verifications: Iterable[Verification]) -> Iterator[str]:
    """Yield a line for each barrier that was left out, judged over all cases."""
    judged = judge_barriers(verification.barriers for verification in verifications)
    for barrier in judged:
        yield barrier.words
    if judged:
        yield BARRIER_LIMITS


def _count(kind: Counted, subject: VerifiedCase, order: ThreadOrder) -> Sequence[Launched]:
    """Run a subject with counters; return no launch without a compiler for that."""
    try:
        with counting(kind):
            return subject.launch(order, False).launches
    except ToolError:
        return ()


def _count_launches(
    launches: Sequence[Launched], counted_launches: Mapping[Counted, Sequence[Launched]]
) -> Iterator[CountedLaunch]:
    for place, launch in enumerate(launches):
        statistics = launch.statistics
        whole_sizes = list(map(min, statistics.grid, statistics.threadgroup))
        groups = 1
        for grid_side, group_side in zip(statistics.grid, whole_sizes, strict=True):
            groups *= -(-grid_side // group_side)
        loaded = 0
        stored = 0
        touched = 0
        for traffic in statistics.traffic.values():
            loaded += traffic.loaded
            stored += traffic.stored
            touched += traffic.touched
        operations: int | None = None
        of_operations = counted_launches.get(Counted.OPERATIONS, ())
        if len(of_operations) == len(launches):
            operations = sum(of_operations[place].statistics.operations.values())
        divergent_branches: int | None = None
        of_branches = counted_launches.get(Counted.BRANCHES, ())
        if len(of_branches) == len(launches):
            divergent_branches = of_branches[place].statistics.divergent_branches
        yield CountedLaunch(
            launch.kernel.function,
            prod(statistics.grid),
            prod(whole_sizes),
            groups,
            statistics.threadgroup_bytes,
            statistics.barrier_places,
            statistics.repeated_places,
            statistics.most_barriers,
            statistics.simd_operations,
            statistics.partial_operations,
            loaded,
            stored,
            touched,
            operations,
            divergent_branches,
        )


def _count_kernels(kernels: Sequence[str]) -> str:
    count = len(set(kernels))
    if count == 1:
        return "1 kernel"
    return f"{count} kernels"


def _describe_meetings(launches: Sequence[Launched]) -> str:
    barriers = sum(launch.statistics.barriers for launch in launches)
    operations = sum(launch.statistics.simd_operations for launch in launches)
    return f"{barriers:,} barriers and {operations:,} simd operations, each met by all"


def _moved_bytes(launches: Sequence[Launched]) -> tuple[MovedBytes, ...]:
    moved: list[MovedBytes] = []
    for launch in launches:
        function = launch.kernel.function
        for buffer, traffic in launch.statistics.traffic.items():
            moved_bytes = MovedBytes(
                function, buffer, traffic.loaded, traffic.stored, traffic.touched
            )
            moved.append(moved_bytes)
    return tuple(moved)


def _report_stop(subject: VerifiedCase, error: KernelError, order: ThreadOrder) -> Verification:
    """Return the verdicts on a kernel that did not run to its end."""
    defect = _blame(error, order)
    skip_reason = "it was stopped"
    if defect.question is Question.COMPILES:
        skip_reason = "the kernel does not compile"
    verdicts: dict[Question, ProofVerdict] = {}
    for question in Question:
        verdicts[question] = ProofVerdict(question, NOT_CHECKED, skip_reason)
    verdicts[Question.COMPILES] = ProofVerdict(Question.COMPILES, PASSED)
    try:
        verdicts[Question.ADDRESS_SPACES] = address_spaces(subject.sources())
    except InputError as reason:
        verdicts[Question.ADDRESS_SPACES] = ProofVerdict(
            Question.ADDRESS_SPACES, NOT_CHECKED, reason.message
        )
    verdicts[defect.question] = defect
    all_verdicts = tuple(verdicts.values())
    return Verification(subject.name, subject.parameters, (), all_verdicts)


def _blame(error: KernelError, order: ThreadOrder) -> ProofVerdict:
    """Return the defect that an error of a kernel shows."""
    head, *lines = error.message.splitlines()
    question = _blamed_question(head)
    if question is Question.COMPILES:
        if lines:
            head, *lines = lines
        words = head
    else:
        words = f"{head.rstrip(':.')} (order {order})"
    if _UNENDED in head:
        lines.append("--time-limit TIME gives a launch longer.")
    return ProofVerdict(question, DEFECT, words, tuple(lines))


def _blamed_question(head: str) -> Question:
    """Return the question that the first line of an error is about, whatever the file's name."""
    file_name, _, said = head.partition(" ")
    for words, question in _BLAMED:
        if words in (said or file_name):
            return question
    return Question.ENDS


def address_spaces(kernels: Sequence[KernelText]) -> ProofVerdict:
    """Let clang judge each text, if there is a clang that can."""
    question = Question.ADDRESS_SPACES
    try:
        clang = find_clang()
    except ToolError as error:
        return ProofVerdict(question, NOT_CHECKED, error.message)
    doubts: list[str] = []
    for kernel in _distinct_kernels(kernels):
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


def _distinct_kernels(kernels: Sequence[KernelText]) -> Iterable[KernelText]:
    """Return one kernel for each text, function and template: the last."""
    distinct_kernels: dict[tuple[str, str, str], KernelText] = {}
    for kernel in kernels:
        distinct_kernels[kernel.text, kernel.function, kernel.template] = kernel
    return distinct_kernels.values()


def loaded_as_modelled(moved: Sequence[MovedBytes], model: Mapping[str, int]) -> ProofVerdict:
    """Compare the bytes loaded from buffers, over all launches, with a model."""
    question = Question.TRAFFIC
    if not model:
        return ProofVerdict(question, NOT_CHECKED, "no model says how many there should be")
    loaded_bytes = Counter[str]()
    for traffic in moved:
        loaded_bytes[traffic.buffer] += traffic.loaded
    differences: list[str] = []
    for name, expected_bytes in model.items():
        if loaded_bytes[name] != expected_bytes:
            differences.append(f"{name}: {loaded_bytes[name]:,} instead of {expected_bytes:,}")
    if differences:
        return ProofVerdict(question, DEFECT, "; ".join(differences))
    return ProofVerdict(question, PASSED, f"as modelled: {', '.join(model)}")


def _describe_traffic(moved: MovedBytes) -> str:
    line = (
        f"  {moved.kernel}, {moved.buffer}: {moved.loaded:,} bytes loaded, {moved.stored:,} "
        f"stored, {moved.touched:,} touched"
    )
    if moved.loaded and moved.touched:
        loads_per_byte = moved.loaded / moved.touched
        line += f", {loads_per_byte:.1f} loads of a byte"
    return line


def _lines(verdict: ProofVerdict) -> Iterator[str]:
    mark = "ok" if verdict.outcome is PASSED else "DEFECT"
    yield f"  {verdict.question:<30}{mark:<8}{verdict.detail}".rstrip()
    for line in verdict.excerpt:
        yield f"      {line}"


Answers = Mapping[str, Sequence[Array]]  # the arrays that came out, by the order of threads


def arrays(result: Any) -> tuple[Array, ...]:
    """Return the result of a function as numpy arrays: float64 for floats, others as they are."""
    if not isinstance(result, list | tuple):
        return (_convert_to_numpy(result),)
    return tuple(_convert_to_numpy(value) for value in result)


def _convert_to_numpy(array: Any) -> Array:
    if isinstance(array, mx.array) and array.dtype == mx.bfloat16:  # which numpy lacks
        array = array.astype(mx.float32)
    numpy_array = np.asarray(array)
    if numpy_array.dtype.kind == "f":
        return numpy_array.astype(np.float64)
    return numpy_array


def orders_agree(answers: Answers) -> ProofVerdict:
    """Judge whether the same bits came out, whatever the order in which threads ran."""
    question = Question.ORDERS
    (first_order, reference), *other_answers = answers.items()
    if not other_answers:
        return ProofVerdict(question, NOT_CHECKED, f"only the order {first_order} was run")
    for order, got in other_answers:
        numbered_pairs = enumerate(zip(reference, got, strict=True))
        for number, (array, other_array) in numbered_pairs:
            both_nan = (array != array) & (other_array != other_array)  # noqa: PLR0124
            differs = ~((array == other_array) | both_nan)
            if differs.any():
                first_difference = np.argwhere(differs)[0]
                place = _place(first_difference, number, len(got))
                difference_count = np.count_nonzero(differs)
                return ProofVerdict(
                    question,
                    DEFECT,
                    f"{difference_count} of {differs.size} elements differ "
                    f"between {first_order} "
                    f"and {order}, the first at {place}: a barrier is missing, or threads race.",
                )
    return ProofVerdict(question, PASSED, ", ".join(answers))


def all_written(answers: Answers, expected: Sequence[Array] = ()) -> ProofVerdict:
    """Judge whether NaN came out unexpectedly; memory is full of NaN before a launch."""
    question = Question.WRITTEN
    has_floats = False
    for order, got in answers.items():
        for number, output in enumerate(got):
            if output.dtype.kind != "f":
                continue
            has_floats = True
            unexpected = np.isnan(output)
            if expected:
                unexpected = unexpected & ~np.isnan(expected[number])
            if unexpected.any():
                first_unexpected = np.argwhere(unexpected)[0]
                place = _place(first_unexpected, number, len(got))
                unexpected_count = np.count_nonzero(unexpected)
                return ProofVerdict(
                    question,
                    DEFECT,
                    f"{unexpected_count} of {output.size} elements are NaN in the "
                    f"order {order}, the first at {place}: never written, or computed of memory "
                    "that was never written.",
                )
    if not has_floats:
        reason = "the outputs are not floating-point numbers: none can be NaN"
        return ProofVerdict(question, NOT_CHECKED, reason)
    return ProofVerdict(question, PASSED)


def within_bound(answers: Answers, expected: Sequence[Array], bound: float) -> ProofVerdict:
    """Judge whether every answer is as near to the expected one as the check demands.

    Raises InputError if arrays of other shapes came out.
    """
    question = Question.ERROR
    if not expected:
        return ProofVerdict(question, NOT_CHECKED, "there is nothing to compare with")
    worst = 0.0
    worst_place = ""
    for order, got in answers.items():
        _require_same_shapes(got, expected)
        numbered_pairs = enumerate(zip(got, expected, strict=True))
        for number, (array, expected_array) in numbered_pairs:
            error, index = error_and_place(array, expected_array)
            if error > worst:
                worst = error
                worst_place = f"at {_place(index, number, len(got))}, order {order}"
    measured = f"{worst:.2g} of {bound:g} allowed"
    if worst <= bound:
        return ProofVerdict(question, PASSED, measured)
    return ProofVerdict(question, DEFECT, f"{measured}, {worst_place}")


def _require_same_shapes(got: Sequence[Array], expected: Sequence[Array]) -> None:
    ours = [list(array.shape) for array in got]
    theirs = [list(array.shape) for array in expected]
    if ours != theirs:
        raise InputError(
            f"The check runs to arrays of the shapes {ours}, and expects {theirs}.",
            hint="`run` and `expected` must have as many arrays, of the same shapes.",
        )


def error_and_place(got: Array, expected: Array) -> tuple[float, Array]:
    """Return the largest error and its index.

    The error is a share of the largest finite magnitude expected in the whole array, as nobody
    knows which axis is that of sequences, and a share of 1 if only zeros are expected. NaN and
    infinity count as right if they are expected, otherwise as infinitely wrong.
    """
    if got.size == 0:
        return 0.0, np.zeros(got.ndim, int)
    ours = got.astype(np.float64)
    theirs = expected.astype(np.float64)
    are_both_nan = np.isnan(ours) & np.isnan(theirs)
    equal_mask = (ours == theirs) | are_both_nan
    with np.errstate(invalid="ignore"):
        distances = np.abs(ours - theirs)
        off = np.where(equal_mask, 0.0, distances)
    off = np.nan_to_num(off, nan=np.inf, posinf=np.inf)
    worst_index = int(np.argmax(off))
    place = np.unravel_index(worst_index, off.shape)
    finite = np.abs(theirs[np.isfinite(theirs)])
    largest = float(finite.max(initial=0.0)) or 1.0
    return float(off[place]) / largest, np.array(place)


def _place(index: Array, number: int, output_count: int) -> str:
    place = f"[{', '.join(map(str, index))}]"
    if output_count > 1:
        place += f" of output {number}"
    return place
