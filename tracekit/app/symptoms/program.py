"""A program that is examined, and its runs: by itself, with validation, and in a short capture.

Each run is made once, when a check asks for it first. The variables of Metal's validation layers
are those of the manual page MetalValidation(1).
"""

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit import machine, pipeline, record
from tracekit.analysis import Status
from tracekit.app.symptoms.watching import WatchedRun, watch_program
from tracekit.base import InterruptedRunError, TracekitError
from tracekit.workload import Plan

if TYPE_CHECKING:
    from tracekit.analysis import Result
    from tracekit.base import Recording

_VALIDATION = {
    "MTL_DEBUG_LAYER": "1",
    "MTL_SHADER_VALIDATION": "1",
    "MTL_SHADER_VALIDATION_REPORT_TO_STDERR": "1",
}


@dataclass(frozen=True)
class CheckAnswer:
    """The answer of a check: its state, the facts in words, and the next command.

    `command` is the command that brings an answer or shows more, empty if none is known; `log` is
    the file with the output of the program, or the words of a tool that failed.
    """

    status: Status
    words: str
    command: str = ""
    log: str = ""


@dataclass
class ExaminedProgram:
    """The program that is checked, and the runs of it that were made.

    `limit` is the longest time of each run in seconds; `folder` keeps all output. `host` is asked
    about regions of memory, for the symptom "memory" alone, whose runs are not timed.
    """

    argv: tuple[str, ...]
    limit: float
    folder: Path
    symptom: str
    show_stage: pipeline.ShowStage = pipeline.show_nothing
    host: machine.Machine = field(default_factory=machine.Machine)

    @cached_property
    def plain_run(self) -> WatchedRun:
        """The run without a recorder or validation.

        Python programs are told not to hold back their output, so that its first moment is seen.
        """
        environment = record.own_environment({"PYTHONUNBUFFERED": "1"})
        with machine.Watch() as watch:
            self.states.append(watch.before())
            with self.show_stage("run"):
                folder = self.folder / "plain"
                read_regions = self._read_regions if self.symptom == "memory" else None
                run = watch_program(self.argv, environment, folder, self.limit, read_regions)
            self.states.append(watch.after())
        return run

    def _read_regions(self, pid: int) -> dict[str, int | None]:
        return machine.sampler.read_vmmap(pid, self.host)

    @cached_property
    def states(self) -> list[machine.State]:
        """The states of the machine right before and after the plain run."""
        return []

    @cached_property
    def validated_run(self) -> WatchedRun:
        """The run with Metal's validation layers, which is never timed."""
        environment = record.own_environment({}) | _VALIDATION
        with self.show_stage("validate"):
            return watch_program(self.argv, environment, self.folder / "validated", self.limit)

    @property
    def capture(self) -> "tuple[Recording, Result]":
        """The short capture, whose page is in the folder too; raise the errors of `capture`."""
        if isinstance(self._capture, TracekitError):
            raise self._capture
        return self._capture

    @cached_property
    def _capture(self) -> "tuple[Recording, Result] | TracekitError":
        plan = Plan(command=self.argv, output=self.folder / "run", time_limit=self.limit)
        try:
            return pipeline.capture(plan, self.show_stage)
        except InterruptedRunError:
            raise
        except TracekitError as error:
            return error

    @property
    def outputs(self) -> tuple[Path, ...]:
        """The output files of the plain run."""
        return self.plain_run.stdout, self.plain_run.stderr

    def command(self, head: str) -> str:
        """Return a command of tracekit about this program."""
        return f"tracekit {head} -- {shlex.join(self.argv)}"

    def outcome(self, rule: str) -> CheckAnswer:
        """Return the outcome of a rule on the short capture."""
        recording, result = self.capture
        for check in result.checks:
            if check.rule != rule:
                continue
            if check.status is Status.FOUND:
                for number, finding in enumerate(result.findings, start=1):
                    if finding.rule == rule:
                        place = shlex.quote(str(recording.folder))
                        command = f"tracekit report {place} --evidence {number}"
                        return CheckAnswer(check.status, finding.message, command)
            reason = check.reason or f"The rule {rule} found nothing."
            return CheckAnswer(check.status, reason, check.remedy, check.log)
        return CheckAnswer(Status.ABSTAINED, f"The rule {rule} did not run.")
