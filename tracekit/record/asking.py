"""Ask questions to the xctrace of this machine, report the answers, and learn from reports."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tracekit.base import InputError, Recording, UsageError, documents, own_version, require
from tracekit.base import capabilities as base_capabilities
from tracekit.base import files as base_files
from tracekit.machine import chips, describe
from tracekit.record.beliefs import (
    AnswerVerdict,
    LearnedAnswer,
    LongerThan,
    ToolBelief,
    Value,
    add_answers,
    beliefs_of,
    describe_changes,
    find_beliefs_file,
    find_contradictions,
    read_beliefs,
    write_beliefs,
)
from tracekit.record.doctor.examine import recall_probe
from tracekit.record.doctor.gpu_questions import GPU_QUESTIONS
from tracekit.record.doctor.interview import (
    Answer,
    CommandRecord,
    ExportTime,
    GpuExperiment,
    Interview,
    NameList,
    NotAnsweredError,
    Observed,
    Trial,
)
from tracekit.record.doctor.questions import QUESTIONS, DoctorQuestion
from tracekit.record.doctor.report_redaction import redact_report
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.doctor.time_questions import REST_QUESTION, TIME_QUESTIONS
from tracekit.record.known_bundles import recall
from tracekit.record.progress import Progress
from tracekit.record.recorders import xctrace_here
from tracekit.record.xctrace.claim import Premises, claim_machine

REPORT_FORMAT = 1
ALL_QUESTIONS = (*QUESTIONS, *TIME_QUESTIONS, *GPU_QUESTIONS, REST_QUESTION)
_PROBE = "probe"
_UNOBSERVED = "the question did not observe it"


@dataclass(frozen=True)
class BeliefAnswer:
    """One belief and the answer: the observed value, or the reason for none.

    A `longer` value is a time that was not measured to its end.
    """

    belief: str
    expected: Value
    verdict: AnswerVerdict
    value: Value | None = None
    reason: str = ""
    longer: bool = False

    @property
    def words(self) -> str:
        """The answer in words."""
        if self.value is None:
            return self.reason
        bound = "longer than " if self.longer else ""
        return f"{bound}{self.value} (expected {self.expected})"


@dataclass(frozen=True)
class AskedQuestion:
    """One question that was asked: its answers, and the commands with their output."""

    name: str
    words: str
    answers: tuple[BeliefAnswer, ...]
    commands: tuple[CommandRecord, ...] = ()


@dataclass(frozen=True)
class DirectCounts:
    """The tables of this build that were compared with exports: how many, rows, differences."""

    tables: int = 0
    rows: int = 0
    different: int = 0


@dataclass(frozen=True)
class DoctorReport:
    """The report of one machine.

    `schemas` has the columns of each table of the recordings, `lists` the names of this Xcode's
    templates and instruments, `exports` the seconds of the export of each schema.
    """

    tracekit: str
    asked: str
    machine: dict[str, Any]
    virtual: bool
    system_build: str
    xcode_build: str
    xctrace: str
    questions: tuple[AskedQuestion, ...]
    capabilities: base_capabilities.Capabilities | None = None
    schemas: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    direct: DirectCounts = DirectCounts()
    lists: tuple[NameList, ...] = ()
    exports: tuple[ExportTime, ...] = ()
    format: int = REPORT_FORMAT

    @property
    def verdicts(self) -> set[AnswerVerdict]:
        """The verdicts that occur."""
        verdicts: set[AnswerVerdict] = set()
        for question in self.questions:
            verdicts.update(answer.verdict for answer in question.answers)
        return verdicts


def ask(
    names: Sequence[str],
    surroundings: DoctorSurroundings,
    notes: Path,
    progress: Progress,
    *,
    limit: float | None = None,
    premises: Premises | None = None,
    gpu: GpuExperiment | None = None,
) -> DoctorReport:
    """Ask the named questions, by default all, and return the report of this machine.

    Each question has a folder of its own, its own limit or `limit` seconds, and ends all that it
    started. The last probe answers as well. `notes` is the folder of earlier results.

    Raises:
        UsageError: There is no such question.
        ToolError: There is no usable xctrace, or another recorder runs.
    """
    questions = choose_questions(names)
    beliefs = read_beliefs()
    tool = xctrace_here()
    is_virtual = bool(surroundings.machine.is_virtual)
    capabilities = recall_probe(surroundings.identity, notes)
    asked: list[AskedQuestion] = []
    with tempfile.TemporaryDirectory(prefix="tracekit-questions-") as name:
        folder = Path(name)
        with claim_machine(Recording(folder), premises or Premises()) as claim:
            interview = Interview(
                tool,
                folder,
                claim.supervisor,
                surroundings.machine.chip,
                is_virtual,
                gpu or GpuExperiment(),
            )
            for number, question in enumerate(questions, 1):
                progress(f"{number} of {len(questions)}: {question.words}")
                if question.needs_gpu and is_virtual:
                    asked.append(_refuse(question, beliefs))
                else:
                    seconds = question.limit if limit is None else limit
                    asked.append(_ask_question(question, interview, beliefs, seconds))
    if not names:
        asked.append(_answer_by_probe(capabilities, beliefs))
    known_tables = recall(tool.version.build, notes).tables.values()
    return DoctorReport(
        tracekit=own_version(),
        asked=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=_describe_machine(surroundings),
        virtual=is_virtual,
        system_build=surroundings.identity.system_build,
        xcode_build=tool.version.build,
        xctrace=tool.version.text,
        questions=tuple(asked),
        capabilities=capabilities,
        schemas=interview.schemas,
        direct=DirectCounts(
            len(known_tables),
            sum(table.rows for table in known_tables),
            sum(bool(table.difference) for table in known_tables),
        ),
        lists=tuple(interview.lists),
        exports=tuple(interview.exports),
    )


def choose_questions(names: Sequence[str]) -> tuple[DoctorQuestion, ...]:
    """Return the questions of these names, all without any; raise UsageError for others."""
    by_name = {question.name: question for question in ALL_QUESTIONS}
    for name in names:
        require(name, by_name, "question")
    if not names:
        return ALL_QUESTIONS
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _ask_question(
    question: DoctorQuestion,
    interview: Interview,
    beliefs: Mapping[str, ToolBelief],
    limit: float,
) -> AskedQuestion:
    observed: Observed = {}
    reason = _UNOBSERVED
    with Trial(interview, interview.folder / question.name, limit) as trial:
        try:
            observed = question.ask(trial)
        except NotAnsweredError as error:
            observed = error.observed
            reason = str(error)
        except (OSError, ValueError, psutil.Error, InputError) as error:
            reason = f"the question failed: {type(error).__name__}"
    answers = _judge(beliefs_of(question.name, beliefs), observed, reason)
    return AskedQuestion(question.name, question.words, answers, tuple(trial.commands))


def _refuse(question: DoctorQuestion, beliefs: Mapping[str, ToolBelief]) -> AskedQuestion:
    answers = _judge(beliefs_of(question.name, beliefs), {}, chips.VIRTUAL_GPU.removesuffix("."))
    return AskedQuestion(question.name, question.words, answers)


def _judge(
    beliefs: Mapping[str, ToolBelief], observed: Observed, reason: str
) -> tuple[BeliefAnswer, ...]:
    answers: list[BeliefAnswer] = []
    for name, belief in beliefs.items():
        answers.append(_judge_answer(name, belief, observed.get(name), reason))
    return tuple(answers)


def _judge_answer(
    name: str, belief: ToolBelief, answer: Answer | None, reason: str
) -> BeliefAnswer:
    if answer is None:
        return BeliefAnswer(name, belief.expected, belief.judge(None), None, reason)
    if isinstance(answer, LongerThan):
        verdict = belief.judge(answer.seconds, longer=True)
        return BeliefAnswer(name, belief.expected, verdict, answer.seconds, reason, longer=True)
    return BeliefAnswer(name, belief.expected, belief.judge(answer), answer)


def _answer_by_probe(
    capabilities: base_capabilities.Capabilities | None, beliefs: Mapping[str, ToolBelief]
) -> AskedQuestion:
    observed: dict[str, Answer] = {}
    reason = "this machine was never probed: `tracekit doctor --probe`"
    if capabilities is not None:
        reason = "the probe did not tell"
        for way in capabilities.combinations:
            if way.rows is None:
                continue
            if way.counters:
                observed["counters-come"] = bool(observed.get("counters-come")) or way.works
            else:
                observed[f"{way.mode}-gives-rows"] = way.works
    words = "What did the last probe record?"
    return AskedQuestion(_PROBE, words, _judge(beliefs_of(_PROBE, beliefs), observed, reason))


_CLASS = ("system", "os", "architecture", "chip", "gpu_cores", "memory", "python", "mlx", "rosetta")


def _describe_machine(surroundings: DoctorSurroundings) -> dict[str, Any]:
    """Return the class of the machine, and nothing that only one machine has."""
    facts = describe(surroundings.machine)
    return {name: facts[name] for name in _CLASS if name in facts}


def write_report(report: DoctorReport, file: Path) -> None:
    """Write a report without the names of people, machines and folders; see its schema."""
    documents.save(file, redact_report(report))


def report_schema() -> dict[str, Any]:
    """Return the JSON schema of a report."""
    schema = msgspec.json.schema(DoctorReport)
    title = "The report of `tracekit doctor --report`"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def read_report(file: Path) -> DoctorReport:
    """Read a report; raise InputError if it is none, or of a newer form."""
    try:
        report = documents.decode_json(base_files.read_input(file), DoctorReport)
    except OSError as error:
        raise base_files.unreadable(file, error) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{file} is not a report of `tracekit doctor`: {error}.") from error
    if report.format > REPORT_FORMAT:
        raise InputError(
            f"{file} has format {report.format}; this tracekit reads up to {REPORT_FORMAT}.",
            hint="Use the tracekit that wrote it, or a newer one.",
        )
    return report


@dataclass(frozen=True)
class Lesson:
    """The result of learning: how many answers are new, and remarks on the others.

    `changes` are the values that tracekit acts on instead of the expected ones.
    """

    added: int
    refused: tuple[str, ...]
    contradictions: tuple[str, ...]
    changes: tuple[str, ...]


def learn(files: Sequence[Path], beliefs_file: Path | None = None) -> Lesson:
    """Merge the answers of reports into a file of beliefs, by default the one in use.

    Answers that cannot be true are refused, and those of a virtual machine about capabilities,
    because it proves nothing about them. Machines that contradict each other all stay, and then the
    expected value counts.

    Raises:
        UsageError: There is no report.
        InputError: A file is not a report.
        RecordingError: The file of beliefs cannot be written.
    """
    if not files:
        raise UsageError("Name the reports to learn from.", hint="tracekit doctor --learn FILE …")
    reports = [read_report(file) for file in files]
    beliefs = read_beliefs(beliefs_file)
    beliefs_file = beliefs_file or find_beliefs_file()
    refused: list[str] = []
    added = 0
    for file, report in zip(files, reports, strict=True):
        for answer in _answers_of(report):
            belief = beliefs.get(answer.belief)
            reason = _find_refusal(belief, answer, report)
            if belief is None or reason:
                refused.append(f"{file.name}: {reason}.")
                continue
            new = add_answers(belief, [_make_answer(report, answer)])
            added += new != belief
            beliefs[answer.belief] = new
    write_beliefs(beliefs, beliefs_file)
    contradictions = tuple(find_contradictions(beliefs))
    return Lesson(added, tuple(refused), contradictions, tuple(describe_changes(beliefs)))


def _find_refusal(belief: ToolBelief | None, answer: BeliefAnswer, report: DoctorReport) -> str:
    """Return why an answer is not learned; empty if it is."""
    if belief is None:
        return f"there is no belief {answer.belief!r}"
    if belief.capability and report.virtual:
        return f"{answer.belief} is a capability, and the machine is virtual"
    assert answer.value is not None
    misfit = belief.describe_misfit(answer.value)
    if misfit:
        return f"{answer.belief}: {misfit}"
    if answer.longer and not belief.at_most:
        return f"{answer.belief} is not a time"
    return ""


def _answers_of(report: DoctorReport) -> list[BeliefAnswer]:
    answers: list[BeliefAnswer] = []
    for question in report.questions:
        answers += [answer for answer in question.answers if answer.value is not None]
    return answers


def _make_answer(report: DoctorReport, answer: BeliefAnswer) -> LearnedAnswer:
    assert answer.value is not None
    return LearnedAnswer(
        value=answer.value,
        xcode=report.xcode_build,
        system=report.system_build,
        chip=str(report.machine.get("chip", "")),
        virtual=report.virtual,
        asked=report.asked,
        longer=answer.longer,
    )
