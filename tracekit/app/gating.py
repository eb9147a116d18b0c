"""The gate of `kernel verify`: expectations of the exact counts of a kernel's launches."""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from tracekit import lab
from tracekit.analysis import dispatches
from tracekit.app.checking import CaptureCheck, CheckedDispatch, sum_up
from tracekit.base import UsageError

_Measure = Callable[["lab.verify.CountedLaunch"], int | float | str | None]


def _average(count: Callable[["lab.verify.CountedLaunch"], int | None]) -> _Measure:
    """Return a count as a mean over the threads of its launch."""

    def measure(launch: "lab.verify.CountedLaunch") -> float | None:
        total = count(launch)
        if total is None:
            return None
        return total / launch.threads

    return measure


QUANTITIES: Mapping[str, tuple[str, _Measure]] = {
    "function": ("name of the kernel's function", lambda launch: launch.kernel),
    "threads": ("threads of the grid", lambda launch: launch.threads),
    "threadgroup": ("threads of a threadgroup", lambda launch: launch.threadgroup),
    "groups": ("threadgroups of the grid", lambda launch: launch.groups),
    "threadgroup_memory": (
        "bytes of threadgroup memory that a threadgroup used",
        lambda launch: launch.threadgroup_memory,
    ),
    "barriers": (
        "threadgroup barriers in the code that ran",
        lambda launch: launch.barriers,
    ),
    "barriers_in_loops": (
        "those of them that a threadgroup met more than once",
        lambda launch: launch.barriers_in_loops,
    ),
    "barriers_met": (
        "barriers that a threadgroup met, at most",
        lambda launch: launch.barriers_met,
    ),
    "simd_operations": (
        "simd operations of all simdgroups",
        lambda launch: launch.simd_operations,
    ),
    "divergent_operations": (
        "those of them that some lanes skipped, with --lenient",
        lambda launch: launch.divergent_operations,
    ),
    "divergent_branches": (
        "branches at which lanes of a simdgroup part",
        lambda launch: launch.divergent_branches,
    ),
    "loaded": (
        "bytes of buffers that a thread loads, on average",
        _average(lambda launch: launch.loaded),
    ),
    "stored": (
        "bytes of buffers that a thread stores, on average",
        _average(lambda launch: launch.stored),
    ),
    "touched": ("bytes of buffers that the launch uses", lambda launch: launch.touched),
    "operations": (
        "floating-point operations of a thread, on average",
        _average(lambda launch: launch.operations),
    ),
}
"""The meaning of each quantity that a gate may name, and its value."""
_UNCOUNTED = "counting it takes clang++, and there is none on PATH."
_BY_ANOTHER_RUN = {
    "operations": lab.verify.Counted.OPERATIONS,
    "divergent_branches": lab.verify.Counted.BRANCHES,
}
_FUNCTION = "function"


def read_gate(
    texts: Sequence[str], report_files: Collection[str] = ()
) -> list[dispatches.Expectation]:
    """Return the expectations of texts, each of which has one or several with commas between.

    Raises:
        UsageError: One has another form, or names a quantity that no launch has; or there are
            none, for which reports were asked.
    """
    if report_files and not texts:
        raise UsageError("Only a gate has a report.", hint="Add --gate EXPECTATIONS.")
    names = tuple(QUANTITIES)
    parts = filter(None, map(str.strip, ",".join(texts).split(",")))
    expectations = [dispatches.read_expectation(part, names) for part in parts]
    if texts and all(item.quantity == _FUNCTION for item in expectations):
        raise UsageError(
            "The gate expects nothing of a launch.",
            hint="Name a quantity, such as threadgroup_memory<=16384.",
        )
    return expectations


def find_counted(gate: Sequence[dispatches.Expectation]) -> list["lab.verify.Counted"]:
    """Return the things in a gate that take another run to count."""
    names = set(map(attrgetter("quantity"), gate))
    return [kind for name, kind in _BY_ANOTHER_RUN.items() if name in names]


def check_launches(
    subject: str,
    verifications: Sequence["lab.verify.Verification"],
    gate: Sequence[dispatches.Expectation],
) -> CaptureCheck:
    """Compare each launch of each verification with a gate; `function` chooses launches."""
    selecting = [item for item in gate if item.quantity == _FUNCTION]
    checked: list[CheckedDispatch] = []
    for verification in verifications:
        for launch in verification.launches:
            quantities = _measure(launch)
            if any(not item.holds(launch.kernel) for item in selecting):
                continue
            answers = [dispatches.compare_quantity(item, quantities) for item in gate]
            title = f"{verification.title}: {launch.kernel}"
            checked.append(CheckedDispatch(len(checked), title, tuple(answers), ()))
    if not checked:
        note = "no launch that ended is of this choice; defects are listed above."
        topic = " ".join(map(str, gate))
        answer = dispatches.DispatchAnswer(topic, "", dispatches.AnswerState.NOT_RECORDED, note)
        checked.append(CheckedDispatch(None, subject, (answer,), ()))
    return sum_up(Path(subject), checked, "launch", "launches")


def _measure(launch: "lab.verify.CountedLaunch") -> dict[str, dispatches.RecordedQuantity]:
    quantities: dict[str, dispatches.RecordedQuantity] = {}
    for name, (_, measure) in QUANTITIES.items():
        value = measure(launch)
        reason = _UNCOUNTED if value is None else ""
        quantities[name] = dispatches.RecordedQuantity(value, reason)
    return quantities
