"""All questions asked of one subject, in a harmless order, and their answers in words.

Two things become subjects: a check, whose own code launches kernels, and a kernel of a file.

Watched accesses come first: a kernel that leaves its buffers must not run unwatched.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.base import InputError, KernelError, ToolError
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.lint import excerpt, find_clang, lint
from tracekit.lab.msl.program import Launched, Order
from tracekit.lab.verification.verdict import (
    Array,
    Moved,
    Outcome,
    Question,
    Verdict,
    Verification,
    all_written,
    defect,
    orders_agree,
    passed,
    unknown,
    within_bound,
)

PATIENCE = 60.0
"""Seconds that one launch may take: kernels that never end are a defect to find, too."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out of one run: arrays that can be computed with, and the launches."""

    arrays: tuple[Array, ...]
    launches: tuple[Launched, ...]


Launch = Callable[[Order, bool], Answer]
Sources = Callable[[], Sequence[Kernel]]


@dataclass(frozen=True, eq=False)
class Subject:
    """A case to verify; for what must come out see `Check`.

    Attributes:
        name: What it is called in the report.
        parameters: Which case of it this is.
        launch: Runs it in an order of threads; the flag asks for bounds and bytes to be watched.
        sources: Returns the kernels that would run, without running them.
        expected: What must come out; empty where that is not known.
        bound: The largest error allowed.
        loaded: Bytes that must be loaded of buffers, by their names.
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


def verify(subject: Subject, orders: Sequence[Order] = tuple(Order)) -> Verification:
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
        return _stopped(subject, error, order)
    launches = watched.launches
    barriers = sum(one.statistics.barriers for one in launches)
    operations = sum(one.statistics.simd_operations for one in launches)
    kernels = tuple(one.kernel.function for one in launches)
    count = len(set(kernels))
    verdicts = [
        passed(Question.COMPILES, f"{count} kernel{'s' if count != 1 else ''}"),
        address_spaces([one.kernel for one in launches]),
        passed(
            Question.SYNCHRONISATION,
            f"{barriers:,} barriers and {operations:,} simd operations, each met by all",
        ),
        passed(Question.BOUNDS, "every access to a buffer was watched"),
        passed(Question.ENDS),
        orders_agree(answers),
    ]
    if subject.expected:
        error_found = within_bound(answers, subject.expected, subject.bound)
    else:
        error_found = unknown(Question.ERROR, "there is nothing to compare with")
    verdicts += [all_written(answers, subject.expected), error_found]
    moved = tuple(
        Moved(one.kernel.function, name, traffic.loaded, traffic.stored, traffic.touched)
        for one in launches
        for name, traffic in one.statistics.traffic.items()
    )
    verdicts.append(loaded_as_modelled(moved, subject.loaded))
    return Verification(subject.name, subject.parameters, kernels, tuple(verdicts), moved)


def _stopped(subject: Subject, error: KernelError, order: Order) -> Verification:
    """Return what is known of a kernel that did not come to its end."""
    head, *lines = error.message.splitlines()
    question = next((to for words, to in _BLAMED if words in head), Question.ENDS)
    if question is Question.COMPILES and lines:
        head, *lines = lines
    words = head if question is Question.COMPILES else f"{head.rstrip(':.')} (order {order})"
    if _UNENDED in head:
        lines.append("--patience SECONDS gives a launch longer.")
    found = defect(question, words, lines)
    why = "the kernel does not compile" if question is Question.COMPILES else "it was stopped"
    try:
        spaces = address_spaces(subject.sources())
    except InputError as reason:
        spaces = unknown(Question.ADDRESS_SPACES, reason.message)
    known = {Question.COMPILES: passed(Question.COMPILES), Question.ADDRESS_SPACES: spaces}
    known[question] = found
    verdicts = [known.get(one, unknown(one, why)) for one in Question]
    return Verification(subject.name, subject.parameters, (), tuple(verdicts))


def address_spaces(kernels: Sequence[Kernel]) -> Verdict:
    """Let clang judge each text, if there is a clang that can."""
    question = Question.ADDRESS_SPACES
    try:
        clang = find_clang()
    except ToolError as error:
        return unknown(question, error.message)
    doubts: list[str] = []
    for kernel in {(one.text, one.function, one.template): one for one in kernels}.values():
        found = lint(kernel.text, kernel.function, kernel.template, defines=kernel.defines)
        if found.defects:
            first, *lines = excerpt(kernel.text, found.defects)
            line, _, rest = first.partition(":")
            file, own = kernel.where(int(line))
            return defect(question, f"{file}:{own}:{rest}", lines)
        doubts += [f"{doubt.message} (line {doubt.line})" for doubt in found.unknown]
    return (
        unknown(question, f"clang cannot judge all: {doubts[0]}")
        if doubts
        else passed(question, clang)
    )


def loaded_as_modelled(moved: Sequence[Moved], model: Mapping[str, int]) -> Verdict:
    """Compare the bytes loaded of buffers, over all launches, with what a model says."""
    question = Question.TRAFFIC
    if not model:
        return unknown(question, "no model says how many there should be")
    there = Counter[str]()
    for one in moved:
        there[one.buffer] += one.loaded
    wrong = [
        f"{name}: {there[name]:,} instead of {wanted:,}"
        for name, wanted in model.items()
        if there[name] != wanted
    ]
    if wrong:
        return defect(question, "; ".join(wrong))
    return passed(question, f"as modelled: {', '.join(model)}")


_WIDTH = 30


def case(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the name and the chosen parameters, as they would be given again."""
    options = (f"--{key.replace('_', '-')} {value}" for key, value in parameters.items())
    return " ".join([name, *options])


def in_short(verification: Verification) -> Iterator[str]:
    """Return a line that counts the answers, then what was not found well, and where."""
    counts = Counter(verdict.outcome for verdict in verification.verdicts)
    tally = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    yield f"{case(verification.name, verification.parameters)}: {tally}"
    for verdict in verification.defects:
        yield from _lines(verdict)


def in_full(verification: Verification) -> Iterator[str]:
    """Return every answer, the kernels that were launched, and the bytes that they moved."""
    yield case(verification.name, verification.parameters)
    for verdict in verification.verdicts:
        if verdict.outcome is not Outcome.NOT_CHECKED:
            yield from _lines(verdict)
    unasked = [one for one in verification.verdicts if one.outcome is Outcome.NOT_CHECKED]
    for why in dict.fromkeys(one.detail for one in unasked):
        questions = ", ".join(one.question for one in unasked if one.detail == why)
        yield f"  not checked, because {why}: {questions}"
    for name in dict.fromkeys(moved.kernel for moved in verification.traffic):
        yield from _table(name, [moved for moved in verification.traffic if moved.kernel == name])


def _lines(verdict: Verdict) -> Iterator[str]:
    mark = "ok" if verdict.outcome is Outcome.PASSED else "DEFECT"
    yield f"  {verdict.question:<{_WIDTH}}{mark:<8}{verdict.detail}".rstrip()
    yield from (f"      {line}" for line in verdict.excerpt)


def _table(kernel: str, moved: Sequence[Moved]) -> Iterator[str]:
    yield f"  {kernel}"
    rows = [("buffer", "bytes loaded", "stored", "touched", "loads of a byte")]
    for one in moved:
        again = f"{one.loaded / one.touched:.1f}" if one.touched and one.loaded else ""
        rows.append((one.buffer, f"{one.loaded:,}", f"{one.stored:,}", f"{one.touched:,}", again))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"    {'  '.join(cells)}".rstrip()
