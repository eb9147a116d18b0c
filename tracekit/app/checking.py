"""The dispatch check of a GPU frame capture, against expectations of a file or a command line."""

import tomllib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit import lab, nightly, tables
from tracekit.analysis import dispatches
from tracekit.app import runs
from tracekit.base import InconclusiveError, InputError, Recording, UsageError, files
from tracekit.nightly import Outcome

FILE = "tracekit.toml"
_KEY = "dispatch"
_FORM = """A file of expectations has a table for each kind of dispatch:
[[dispatch]]
expect = ["function~paged_decode", "threadgroup==256", "spills==0"]"""
_OUTCOMES = {
    dispatches.AnswerState.DEVIATING: Outcome.REGRESSION,
    dispatches.AnswerState.NOT_RECORDED: Outcome.INCONCLUSIVE,
    dispatches.AnswerState.AS_EXPECTED: Outcome.OK,
}


_LEADS = {
    Outcome.REGRESSION: "Not as expected",
    Outcome.INCONCLUSIVE: "Not recorded",
    Outcome.OK: "As expected",
}


class _ExpectationTable(msgspec.Struct, forbid_unknown_fields=True):
    """One table of a file of expectations."""

    expect: tuple[str, ...]


@dataclass(frozen=True)
class CheckedDispatch:
    """A dispatch with its answers: those to expectations, and those that hold for every kernel.

    `index` is None, and `title` the choice, if no dispatch was chosen. `general` has the whole
    dispatch check; facts of which nothing is expected are in it too.
    """

    index: int | None
    title: str
    expected: tuple[dispatches.DispatchAnswer, ...]
    general: tuple[dispatches.DispatchAnswer, ...]

    @property
    def answers(self) -> Iterator[dispatches.DispatchAnswer]:
        """The answers that decide: to all expectations, and of the others the deviations."""
        yield from self.expected
        for answer in self.general:
            if answer.state in {
                dispatches.AnswerState.DEVIATING,
                dispatches.AnswerState.AS_EXPECTED,
            }:
                yield answer


@dataclass(frozen=True)
class CaptureCheck:
    """A capture that was checked; `reason` counts the answers, `verdict` states the outcome too."""

    capture: str
    outcome: Outcome
    verdict: str
    reason: str
    dispatches: tuple[CheckedDispatch, ...]
    format: int = 1


def read_expectation_file(file: Path) -> list[list[dispatches.Expectation]]:
    """Return the expectations of each `[[dispatch]]` of a TOML file.

    Raises:
        UsageError: There is no such file, it is not TOML, or has no such table or a wrong one.
    """
    try:
        document: dict[str, Any] = tomllib.loads(files.read_input(file).decode("utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}.", hint=_FORM) from None
    except (InputError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not TOML: {error}.", hint=_FORM) from error
    if _KEY not in document:
        raise UsageError(f"{file} has no [[{_KEY}]].", hint=_FORM)
    try:
        entries = msgspec.convert(document[_KEY], list[_ExpectationTable])
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: [[{_KEY}]]: {error}.", hint=_FORM) from error
    return [read_expectations(entry.expect) for entry in entries]


def read_own_expectations(path: Path) -> list[list[dispatches.Expectation]]:
    """Return the expectations that the workload of a run has of its capture; [] without any."""
    file = Recording(path).expectations_file
    if not path.is_dir() or not file.exists():
        return []
    return read_expectation_file(file)


def read_expectations(texts: Sequence[str]) -> list[dispatches.Expectation]:
    """Return expectations from their texts; raise UsageError for a wrong one."""
    return [dispatches.read_expectation(text) for text in texts]


def keep_limits(recording: Recording) -> None:
    """Write the limits that Metal gives for the pipelines of a run's capture, for its check."""
    lab.replay.keep_limits(recording)


def check_capture(
    path: Path, expectation_sets: Sequence[Sequence[dispatches.Expectation]]
) -> CaptureCheck:
    """Check the dispatches of a capture; each set of expectations chooses its own ones.

    Without a set, every dispatch gets the check that holds for every kernel.

    Raises:
        UsageError: The path is not a recording.
        InputError: It has no dispatches, or cannot be read.
    """
    captured = _read_dispatches(path)
    checked: list[CheckedDispatch] = []
    for expectations in expectation_sets or [()]:
        checked += map(_finish, dispatches.check_dispatches(captured, expectations))
    return sum_up(path, checked)


@contextmanager
def reading_capture(path: Path) -> Generator[Path]:
    """Yield the folder of a GPU frame capture, of its run or of a zip file, in the block.

    Raises:
        UsageError: The path is not a recording.
        InputError: It is not a GPU frame capture, or is damaged.
    """
    if tables.captures.is_capture(path):
        yield path
        return
    with runs.reading_one(path) as recording:
        if not recording.gputrace.exists():
            raise _make_absence_error(path)
        yield recording.gputrace


def _make_absence_error(path: Path) -> InputError:
    return InputError(
        f"{path} has no dispatches.",
        hint="Only a GPU frame capture has them: `tracekit capture --gputrace`, or Xcode.",
    )


def _read_dispatches(path: Path) -> tuple[dispatches.RecordedDispatch, ...]:
    """Return the dispatches of a capture; its run may also have the limits of its pipelines."""
    with reading_capture(path) as bundle:
        capture_tables = tables.tables_of_bundle(bundle)
        frame, *others = map(capture_tables.get, dispatches.TABLES)
        if frame is None or frame.empty:
            raise _make_absence_error(bundle)
        exports = Recording(path).exports
        if exports.is_dir():
            others[-1] = tables.Tables(exports).get(dispatches.TABLES[-1])
        return dispatches.list_dispatches(frame, *others)


def _finish(check: dispatches.DispatchCheck) -> CheckedDispatch:
    if check.dispatch is None:
        (answer,) = check.answers
        return CheckedDispatch(None, answer.topic, check.answers, ())
    general = dispatches.check_dispatch(check.dispatch)
    return CheckedDispatch(check.dispatch.index, check.dispatch.title, check.answers, general)


def sum_up(
    path: Path,
    checked: Sequence[CheckedDispatch],
    noun: str = "dispatch",
    plural: str = "dispatches",
) -> CaptureCheck:
    """Return the outcome of the answers about dispatches, or about launches of another noun."""
    states: Counter[dispatches.AnswerState] = Counter()
    number = 0
    for dispatch in checked:
        states.update(answer.state for answer in dispatch.answers)
        number += dispatch.index is not None
    deviating = states[dispatches.AnswerState.DEVIATING]
    missing = states[dispatches.AnswerState.NOT_RECORDED]
    dispatch_count = f"{number:,} {noun if number == 1 else plural}"
    answer_count = f"{states.total():,} answers about {dispatch_count}"
    outcome = Outcome.OK
    reason = f"all {answer_count}."
    if deviating:
        outcome = Outcome.REGRESSION
        reason = f"{deviating:,} of {answer_count}."
    elif missing:
        outcome = Outcome.INCONCLUSIVE
        reason = f"{missing:,} of {answer_count}."
    verdict = f"{_LEADS[outcome]}: {reason}"
    return CaptureCheck(str(path), outcome, verdict, reason, tuple(checked))


@dataclass(frozen=True)
class ComparedCaptures:
    """The differences of two captures, dispatch by dispatch; `verdict` counts them."""

    path_before: str
    path_after: str
    verdict: str
    dispatches: tuple[dispatches.DispatchDifference, ...]
    format: int = 1


def compare_captures(path_before: Path, path_after: Path) -> ComparedCaptures:
    """Compare the dispatches of two captures.

    Raises:
        InputError: One of them has no dispatches, or cannot be read.
    """
    dispatches_before = _read_dispatches(path_before)
    dispatches_after = _read_dispatches(path_after)
    differences = dispatches.compare_dispatches(dispatches_before, dispatches_after)
    same = 0
    lone = 0
    for difference in differences:
        same += difference.is_same
        lone += difference.index_before is None or difference.index_after is None
    verdict = f"The same: {same:,} of {len(differences):,} dispatches, in all recorded facts."
    if same < len(differences):
        changed = len(differences) - same - lone
        verdict = (
            f"Changed dispatches: {changed:,}; the same: {same:,}; on one side only: {lone:,}."
        )
    return ComparedCaptures(str(path_before), str(path_after), verdict, tuple(differences))


def require_recorded(check: CaptureCheck) -> None:
    """Raise InconclusiveError if an expected fact was not recorded, and nothing deviates."""
    if check.outcome is Outcome.INCONCLUSIVE:
        raise InconclusiveError(check.verdict, hint="The notes say how to get them.")


def report_of(check: CaptureCheck, plural: str = "dispatches") -> nightly.GateReport:
    """Return the check as the report of a gate, which has writers for other tools."""
    answers: dict[str, list[nightly.gating.ReportedAnswer]] = {}
    for dispatch in check.dispatches:
        of_dispatch = answers.setdefault(dispatch.title, [])
        for answer in dispatch.answers:
            message = ": ".join(filter(None, (answer.value, answer.note)))
            outcome = _OUTCOMES[answer.state]
            of_dispatch.append((answer.topic, outcome, message or str(answer.state)))
    name = Path(check.capture).name
    heading = nightly.GateReport(
        title=f"The {plural} of {name}",
        subject=name,
        outcome=check.outcome,
        reason=check.reason,
        lead=_LEADS[check.outcome],
    )
    return nightly.gating.report_answers(heading, answers)
