"""A workload in a process of its own, and a capture whose variants are known to run in one each."""

import logging
import math
import os
import selectors
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tracekit.base import InputError, ToolError, UsageError, files, processes
from tracekit.nightly.history.night import Described, Quantity
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.session.program import Bounds, Program, Timeouts, last_words, start
from tracekit.nightly.session.variants import CodeVariant, candidate_of, reference_of
from tracekit.record import Supervisor
from tracekit.workload import protocol, resident_command

_CHUNK = 1 << 16
_LONGEST = 1 << 28  # bytes of one answer
_SECOND = 1e9

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


@dataclass
class RemoteWorkload:
    """A workload in a process of its own, which messages call by its `name`.

    Its standard error begins in its log at the byte `since`.
    """

    name: str
    child: processes.Child
    log: Path
    since: int
    bounds: Bounds
    hello: protocol.Hello = field(default_factory=lambda: protocol.Hello(0))
    ready: protocol.Ready = field(default_factory=lambda: protocol.Ready(""))
    _buffer: bytes = b""

    def greet(self, python: Path) -> protocol.Hello:
        """Wait for its greeting; raise ToolError if its tracekit is missing or does not fit."""
        try:
            hello_answer = self._answer(self.bounds.timeouts.hello)
            self.hello = _require_answer(hello_answer.hello)
        except ToolError as error:
            if "No module named" not in error.message:
                raise
            raise ToolError(
                error.message,
                hint="The interpreter must have this tracekit: run `uv pip install --python "
                f"{files.quote_path(python)} .` in its clone, or let the revision bring one by its "
                "`setup` or `pythonpath`.",
            ) from None
        if self.hello.protocol != protocol.PROTOCOL:
            raise ToolError(
                f"The interpreter {python} of {self.name} has tracekit {self.hello.tracekit}, "
                f"which takes turns by protocol {self.hello.protocol}; this one does by protocol "
                f"{protocol.PROTOCOL}.",
                hint="Install the same tracekit in both.",
            )
        return self.hello

    def prepare(self, task: protocol.Prepare) -> protocol.Ready:
        """Let it prepare its workload and warm it up."""
        self.begin_preparing(task)
        return self.end_preparing()

    def begin_preparing(self, task: protocol.Prepare) -> None:
        """Ask it to prepare its workload and warm it up, and do not wait."""
        self._send(protocol.ChildRequest(prepare=task))

    def end_preparing(self) -> protocol.Ready:
        """Wait until it is prepared."""
        ready_answer = self._answer(self.bounds.timeouts.ready)
        self.ready = _require_answer(ready_answer.ready)
        return self.ready

    def run_steps(self, task: protocol.RunSteps) -> protocol.StepTimes:
        """Let it step for a while."""
        least_steps_time = (task.least + 2) * self.ready.last / _SECOND
        expected = task.seconds + task.wake + least_steps_time
        limit = self.bounds.timeouts.turn + 10 * expected
        steps_answer = self.ask(protocol.ChildRequest(steps=task), limit)
        return _require_answer(steps_answer.steps)

    def calibrate(self, task: protocol.Calibrate) -> int:
        """Let it do the calibration work, and return the time that it took, in ns."""
        request = protocol.ChildRequest(calibration=task)
        answer = self.ask(request, self.bounds.timeouts.calibration)
        return _require_answer(answer.calibration).nanoseconds

    def begin_finishing(self) -> None:
        """Ask it to end its work, and do not wait."""
        self.child.note_descendants()
        self._send(protocol.ChildRequest(finish=protocol.Finish()))

    def end_finishing(self) -> protocol.Finished:
        """Wait for its results and for its end."""
        limit = self.bounds.timeouts.finish
        finished = _require_answer(self._answer(limit).finished)
        self.child.wait(limit)
        return finished

    def ask(self, request: protocol.ChildRequest, limit: float) -> protocol.ChildAnswer:
        """Send a request and wait for the answer, for `limit` seconds."""
        self._send(request)
        return self._answer(limit)

    def _send(self, request: protocol.ChildRequest) -> None:
        pipe = self.child.process.stdin
        assert pipe is not None
        with suppress(OSError):  # a child that has ended gives no answer
            pipe.write(protocol.line_of(request))
            pipe.flush()

    def _answer(self, limit: float) -> protocol.ChildAnswer:
        answer_deadline = time.monotonic() + limit
        line = self._line(min(answer_deadline, self.bounds.deadline))
        if line is None:
            self.bounds.require_time(f"while {self.name} worked")
            raise ToolError(
                f"{self._capital} did not answer within {limit:.0f} s and was ended."
                f"{last_words(self.log, self.since)}"
            )
        try:
            answer = protocol.answer_of(line)
        except InputError as error:
            raise ToolError(f"{self._capital} gave an invalid answer: {error.message}") from error
        if answer.failed is not None:
            is_usage_error = answer.failed.exit_code == UsageError.exit_code
            kind = UsageError if is_usage_error else ToolError
            raise kind(f"{self._capital}: {answer.failed.message}", hint=answer.failed.hint)
        return answer

    def _line(self, until: float) -> bytes | None:
        """Return its next line; None if there is none in time."""
        assert self.child.process.stdout is not None
        handle = self.child.process.stdout.fileno()
        parts = [self._buffer]
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                remaining_time = max(0.0, until - time.monotonic())
                if not selector.select(remaining_time):
                    received = b"".join(parts)
                    self._buffer = received
                    return None
                parts.append(os.read(handle, _CHUNK))
                if not parts[-1] or len(parts) * _CHUNK > _LONGEST:
                    self.child.wait(self.bounds.timeouts.leave)
                    status_words = processes.exit_words(self.child.exit_status)
                    log_tail = last_words(self.log, self.since)
                    raise ToolError(
                        f"{self._capital} ended in the middle of its work, with "
                        f"{status_words}.{log_tail}"
                    )
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line

    @property
    def _capital(self) -> str:
        return self.name[0].upper() + self.name[1:]


def _require_answer(answer: _Answer | None) -> _Answer:
    if answer is None:
        raise ToolError("A child answered something else than it was asked.")
    return answer


@contextmanager
def start_workload(
    name: str, variant: CodeVariant, log: Path, bounds: Bounds
) -> Generator[RemoteWorkload]:
    """Start a child and wait for its greeting; at the end stop it and all processes it started."""
    with spawn_workload(name, variant, log, bounds) as workload:
        workload.greet(variant.python)
        yield workload


@contextmanager
def spawn_workload(
    name: str, variant: CodeVariant, log: Path, bounds: Bounds
) -> Generator[RemoteWorkload]:
    """Start a child whose greeting is to come; at the end stop it and all processes it started.

    This process handles Ctrl-C; if it is gone, the child leaves by itself, because its standard
    input ends. The child's standard error is appended to `log`.
    """
    program = Program(resident_command(variant.python), variant.env, variant.cwd, log)
    child, since = start(program, bounds.supervisor, bounds.timeouts.policy, pipe=True)
    try:
        yield RemoteWorkload(name, child, log, since, bounds)
    finally:
        child.note_descendants()
        child.stop()
        child.clean_up(bounds.timeouts.leave)
        if child.interrupted:
            raise KeyboardInterrupt


@dataclass
class PreparedCapture:
    """A capture that can be measured, with its variants and the bounds of its processes.

    The capture's files lie in a folder of its own in `folder`, the night's. The last three fields
    are filled once the work runs: `backend` is that of the candidate's work, as `Step.backend`,
    `results` are the workload's own, by name, and `remarks` are for readers of the night.
    """

    capture: Capture
    folder: Path
    candidate: CodeVariant
    reference: CodeVariant | None
    bounds: Bounds
    described: dict[Role, Described] = field(default_factory=dict[Role, Described])
    backend: str = ""
    results: dict[str, Quantity] = field(default_factory=dict[str, Quantity])
    remarks: list[str] = field(default_factory=list[str])

    @property
    def variants(self) -> tuple[CodeVariant, ...]:
        """The candidate, and the reference if there is one."""
        if self.reference is None:
            return (self.candidate,)
        return (self.candidate, self.reference)

    @property
    def same_commit(self) -> str:
        """The commit, if both variants are the same code in the same interpreter; else empty."""
        planned_reference = self.capture.reference
        if planned_reference is None or not planned_reference.is_revision_alone:
            return ""
        if self.reference is None or self.reference.commit != self.candidate.commit:
            return ""
        return self.reference.commit

    @property
    def own_folder(self) -> Path:
        """The capture's folder in the night's."""
        return self.folder / self.capture.name

    def remark(self, sentence: str) -> None:
        """Keep a sentence, and log it at once if it is new."""
        if sentence not in self.remarks:
            _log.warning("%s", sentence)
            self.remarks.append(sentence)

    def describe(self) -> None:
        """Start each interpreter once, for its facts; a program needs no start."""
        for variant in self.variants:
            if variant.argv:
                self.described[variant.role] = variant.describe_program()
                continue
            name = self.name_variant(variant)
            log_file = self.log_of(variant.role)
            with start_workload(name, variant, log_file, self.bounds) as child:
                self.described[variant.role] = variant.describe_workload(child.hello)

    def log_of(self, name: str) -> Path:
        """Return the log of a process."""
        return self.own_folder / "logs" / f"{name}.log"

    def name_variant(self, variant: CodeVariant) -> str:
        """Return the name of a variant in messages."""
        return f"the {variant.role} of {self.capture.name}"


@contextmanager
def prepared(
    capture: Capture,
    plan: NightPlan,
    folder: Path,
    *,
    deadline: float = math.inf,
    timeouts: Timeouts | None = None,
) -> Generator[PreparedCapture]:
    """Make both variants of a capture ready to be measured, and release them at the end.

    A revision is checked out and set up, unless an earlier night did it. Each interpreter is
    started once, for its facts. At `deadline`, in monotonic seconds, the night's time is spent.
    """
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor(folder))
        bounds = Bounds(supervisor, timeouts or Timeouts(), deadline)
        candidate = candidate_of(capture, plan)
        reference = stack.enter_context(reference_of(capture, plan, candidate, bounds))
        prepared_capture = PreparedCapture(capture, folder, candidate, reference, bounds)
        prepared_capture.describe()
        yield prepared_capture
