"""A worker's instructions, and its account of the run: a journal, and reports."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from tracekit.base import InputError, Recording, documents, programs
from tracekit.workload.journal import ClockAnchor, Journal, fold
from tracekit.workload.plan import Plan

LONGER = 6
"""Times its limit that a steady phase may take until it has its least number of steps."""


@dataclass(frozen=True)
class Spec:
    """The workload to run, and its limits.

    Attributes:
        file: The file of the workload.
        name: The workload's name.
        journal: The file that takes the marks.
        report: The file that takes the folded account, `workload.json`.
        parameters: Values for the workload's parameters, as JSON knows them.
        warmup: Steps in a row without a new pipeline that end the warm-up.
        repeats: Steps of the steady phase; None for as many as the time allows.
        seconds: Time limit of the steady phase; None for none.
        steps: The least number of steady steps, for which the steady phase may take up to `LONGER`
            times its time limit.
        measure_overhead: Whether to end with steps recorded and unrecorded in turn.
        go_file: A file to wait for between warm-up and steady phase; None to go on without one.
            After its work the worker waits until the file is removed, because a recorder that is
            attached to it may lose the recording if it ends earlier.
        go_timeout: Seconds to wait for the file to appear.
        reference: Whether to time fixed reference work between steps on a CPU, which shows the
            machine's pace.
        lifeline: Whether standard input is a pipe that ends when the recorder is gone.
        gputrace: The file into which Metal captures the steady steps, which are then not timed; or
            None.
    """

    file: Path
    name: str
    journal: Path
    report: Path
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    warmup: int = 5
    repeats: int | None = None
    seconds: float | None = None
    steps: int = 0
    measure_overhead: bool = False
    go_file: Path | None = None
    go_timeout: float = 60.0
    reference: bool = False
    lifeline: bool = False
    gputrace: Path | None = None

    def steady(self, step: int) -> int:
        """Return the length of the steady phase in ns, if a step takes `step` ns.

        Without a time limit it is 0: then the repeats end the phase.
        """
        limit = round((self.seconds or 0.0) * 1e9)
        time_of_steps = round(1.1 * self.steps * step)
        return max(limit, min(LONGER * limit, time_of_steps))

    @classmethod
    def from_plan(cls, plan: Plan, recording: Recording, **more: Any) -> Self:
        """Return the instructions of a plan in a run's folder; `more` are other attributes.

        The fields of `RecordingChoices` are those of the plan; no other field is taken from it,
        also if both have one of that name, such as `steps`.
        """
        assert plan.workload is not None
        choices = plan.share_with(cls)
        settings: dict[str, Any] = {**choices, "seconds": plan.time_limit} | more
        file = plan.workload.file.resolve()
        journal = recording.journal_file.resolve()
        report = recording.workload_file.resolve()
        return cls(
            file=file,
            name=plan.workload.name,
            journal=journal,
            report=report,
            **settings,
        )

    def save(self, path: Path) -> None:
        """Write it as JSON; raise RecordingError if that fails."""
        documents.save(path, msgspec.to_builtins(self, enc_hook=str))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it back; raise InputError if it cannot be understood."""
        try:
            return msgspec.json.decode(
                path.read_bytes(), type=cls, dec_hook=lambda kind, value: kind(value)
            )
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(f"{path} does not have a worker's instructions: {error}.") from error


def command(spec_file: Path) -> tuple[str, ...]:
    """Return the worker's command line, with this interpreter: a shim must not be traced."""
    module_words = programs.module_command(Path(sys.executable), "tracekit.workload.worker")
    return (*module_words, str(spec_file))


class Account:
    """The marks of a worker, and the two files that keep them: a journal, and a report."""

    def __init__(self, journal: Path, report: Path) -> None:
        self._journal = Journal(journal)
        self._report = report
        self.mark = self._journal.write

    def anchor(self) -> None:
        """Note the same moment on both clocks, which relates them to each other."""
        self.mark("anchor", **vars(ClockAnchor.read_clocks()))

    def enter(self, phase: str, state: str) -> None:
        """Begin a phase; the report is saved first, so that no phase contains its time."""
        self.mark("about", state=state)
        self.save()
        self.mark("phase", name=phase, start=time.monotonic_ns())

    def end(self, state: str, **values: Any) -> None:
        """Close the account: no mark follows."""
        self.mark("end", at=time.monotonic_ns())
        self.anchor()
        self.mark("about", state=state, complete=True, **values)
        self.save()
        self._journal.close()

    def save(self) -> None:
        """Write `workload.json` from all marks so far."""
        documents.save(self._report, fold(self._journal.path))
