"""Small experiments with xctrace, each in a folder of its own and limited in time.

An `Interview` makes the recordings that several questions share once. A `Trial` belongs to one
question: it runs commands, keeps their output, and ends all that it started.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Self

from tracekit.base import InputError, TracekitError, processes
from tracekit.record.beliefs import LongerThan, Value, list_texts
from tracekit.record.doctor.interpreters import Interpreter
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.command import tool_environment
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import Bundle

TEMPLATE = "Time Profiler"  # in every Xcode; it needs neither a GPU nor counters
LIMIT = 60.0  # seconds of one question
KEPT_BYTES = 4096  # of each stream of a command
_PRIVATE = "(left out, because it may name people)"
_PLAIN_SECONDS = 1  # of the recording that questions share
GPU_WORK = Path(__file__).with_name("gpu_work.py")
_POLL = 0.05
_GRACE = 5.0


Answer = Value | LongerThan
Observed = Mapping[str, Answer]


class NotAnsweredError(Exception):
    """A question found no answer; its text is the reason, without a full stop.

    `observed` holds the answers that it found before.
    """

    def __init__(self, reason: str, observed: Observed | None = None) -> None:
        super().__init__(reason)
        self.observed = observed or {}


class OutOfTimeError(NotAnsweredError):
    """The time of a question is over."""


@dataclass(frozen=True)
class CommandRecord:
    """A command of a question: its words, exit code, output of at most 4 kB each, and seconds."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def text(self) -> str:
        """All of its output; standard error first."""
        return f"{self.stderr}\n{self.stdout}"


def shorten(text: str) -> str:
    """Return the first 4 kB of a text."""
    return text.encode()[:KEPT_BYTES].decode(errors="ignore")


def says(output: str, *beliefs: str) -> bool:
    """Return whether an output has a line of one of these beliefs."""
    return any(text in output for text in _list_texts(beliefs))


def _list_texts(beliefs: Iterable[str]) -> list[str]:
    texts: list[str] = []
    for belief in beliefs:
        texts += list_texts(belief)
    return texts


def sleeper(seconds: float) -> tuple[str, ...]:
    """Return the command of a small program that sleeps; it can be launched and attached to."""
    return run_code(f"import time; time.sleep({seconds})")


def run_code(code: str) -> tuple[str, ...]:
    """Return the command that runs Python code, without packages."""
    return (sys.executable, "-I", "-S", "-c", code)


@dataclass(frozen=True)
class GpuExperiment:
    """The means of the questions about the GPU; tests have others.

    `program` is the one that dispatches, `haste` shortens its pauses. Without `interpreters`, those
    of the machine are tried. Template files are searched for in `home`, too.
    """

    program: Path = GPU_WORK
    haste: float = 1.0
    interpreters: tuple[Interpreter, ...] = ()
    home: Path = field(default_factory=Path.home)


@dataclass(frozen=True)
class NameList:
    """The names under one heading of `xctrace list`; only a standard list keeps them.

    The names of other lists are their user's: of those, `count` alone is kept.
    """

    heading: str
    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportTime:
    """One export of all tables of a schema: its seconds, and its size in bytes.

    `size` is None if no file was written, `rows` if the bundle could not be read directly.
    """

    schema: str
    seconds: float
    size: int | None
    rows: int | None = None


@dataclass
class Interview:
    """The tool and the folder of all questions, and the results that they share.

    `schemas` has the columns of each table that was recorded, `lists` the names of this Xcode's
    templates and instruments, `exports` the times of exports.
    """

    tool: Xctrace
    folder: Path
    supervisor: Supervisor
    chip: str = ""
    is_virtual: bool = False
    gpu: GpuExperiment = field(default_factory=GpuExperiment)
    plain: "PlainRecording | None" = None  # that several questions share, once one has made it
    schemas: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lists: list[NameList] = field(default_factory=list[NameList])
    exports: list[ExportTime] = field(default_factory=list[ExportTime])

    def plain_recording(self, trial: "Trial") -> "PlainRecording":
        """Return a recording of a second of a sleeping program; the first call makes it."""
        if self.plain is None:
            bundle = self.folder / f"plain-{trial.folder.name}.trace"  # a failed one may remain
            self.plain = _record_plainly(trial, bundle)
            self.note_schemas(bundle)
        else:
            trial.commands.append(self.plain.command)
        return self.plain

    def note_schemas(self, bundle: Path) -> None:
        """Keep the columns of each table of a bundle, if it can be read directly."""
        try:
            stores = Bundle(bundle).runs[-1].stores
        except InputError:
            return
        for store in stores:
            self.schemas[store.schema] = tuple(column.mnemonic for column in store.columns)


@dataclass(frozen=True)
class PlainRecording:
    """A recording that went well, and the seconds of its parts, by the names of beliefs."""

    bundle: Path
    command: CommandRecord
    seconds: Observed


class ToolProcess:
    """An xctrace that a question started, and did not wait for."""

    def __init__(self, trial: "Trial", argv: tuple[str, ...], env: Mapping[str, str]) -> None:
        number = len(list(trial.folder.glob("*.out")))
        self._trial = trial
        self._argv = argv
        self._began = time.monotonic()
        self._out = trial.folder / f"{number}.out"
        self._err = trial.folder / f"{number}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.child = trial.interview.supervisor.start(
                argv, processes.StopPolicy(), env=env, stdout=out, stderr=err
            )
        trial.children.append(self.child)

    def wait_for(self, *beliefs: str) -> float:
        """Return the seconds from the start until it printed a line of one of these beliefs.

        Raise NotAnsweredError if it ends before, OutOfTimeError if the question's time is over.
        """
        while not says(self.output(), *beliefs):
            if self.child.exit_status is not None and not says(self.output(), *beliefs):
                words = " or ".join(repr(text) for text in _list_texts(beliefs))
                raise NotAnsweredError(f"xctrace ended before it said {words}: {self._summary()}")
            self._trial.pause()
        self.child.note_descendants()
        return self.seconds

    @property
    def seconds(self) -> float:
        """The seconds since its start."""
        return time.monotonic() - self._began

    def output(self) -> str:
        """Return its standard output so far."""
        return self._out.read_text(errors="replace")

    def finish(self) -> CommandRecord:
        """Wait for its end; raise NotAnsweredError once the question's time is over."""
        while (status := self.child.exit_status) is None:
            self._trial.pause()
        record = CommandRecord(
            self._argv,
            status,
            shorten(self.output()),
            shorten(self._err.read_text(errors="replace")),
            round(time.monotonic() - self._began, 3),
        )
        self._trial.commands.append(record)
        return record

    def _summary(self) -> str:
        words = " ".join(f"{self._err.read_text(errors='replace')} {self.output()}".split())
        return words[:200] or "it said nothing"


@dataclass
class Trial:
    """One question being asked; a context manager that ends all that it started."""

    interview: Interview
    folder: Path
    limit: float = LIMIT
    commands: list[CommandRecord] = field(default_factory=list[CommandRecord])
    children: list[processes.Child] = field(default_factory=list[processes.Child])
    _until: float = 0.0

    def __enter__(self) -> Self:
        """Make the folder; the time begins."""
        self.folder.mkdir(parents=True)
        self._until = time.monotonic() + self.limit
        return self

    def __exit__(self, *_: object) -> None:
        """End all that was started, and remove the folder."""
        for child in self.children:
            child.note_descendants()
            child.stop(processes.StopPolicy(((signal.SIGINT, _GRACE), (signal.SIGKILL, _GRACE))))
            child.clean_up(_GRACE)
            processes.end_leftovers(child.descendants, _GRACE)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def remaining(self) -> float:
        """Seconds that the question may still take; raise OutOfTimeError if there are none."""
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            raise OutOfTimeError(f"it took longer than {self.limit:g} s")
        return seconds

    def pause(self) -> None:
        """Wait for a moment of the time that remains."""
        time.sleep(min(_POLL, self.remaining))

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment of xctrace, with more variables."""
        return {**tool_environment(os.environ), **variables}

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> CommandRecord:
        """Run `xctrace WORDS` to its end, and keep the command for the report."""
        record = self.call(*words, env=env)
        kept_output = {"stdout": shorten(record.stdout), "stderr": shorten(record.stderr)}
        self.commands.append(replace(record, **kept_output))
        return record

    def run_privately(self, *words: str) -> CommandRecord:
        """Run `xctrace WORDS` to its end; the report has the command without its output."""
        record = self.call(*words)
        self.commands.append(replace(record, stdout=_PRIVATE, stderr=""))
        return record

    def call(self, *words: str, env: Mapping[str, str] | None = None) -> CommandRecord:
        """Run `xctrace WORDS` to its end, with all of its output; the report leaves it out."""
        argv = (self.interview.tool.path, *words)
        start_time = time.monotonic()
        start = self.interview.supervisor.start
        try:
            done = processes.run(argv, self.remaining, env=env or self.environment(), start=start)
        except TimeoutExpired:
            raise OutOfTimeError(
                f"xctrace {words[0]} did not end within {self.limit:g} s"
            ) from None
        except (OSError, TracekitError) as error:
            raise NotAnsweredError(f"xctrace cannot be started: {error}") from error
        seconds = round(time.monotonic() - start_time, 3)
        return CommandRecord(argv, done.returncode, done.stdout, done.stderr, seconds)

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> ToolProcess:
        """Start `xctrace WORDS`."""
        argv = (self.interview.tool.path, *words)
        return ToolProcess(self, argv, env or self.environment())

    def wait(self, seconds: float) -> None:
        """Wait for some seconds of the time that remains."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pause()

    def start_target(self, seconds: float) -> processes.Child:
        """Start a small program to attach to; it ends with the question at the latest."""
        return self.start_program(sleeper(seconds))

    def start_program(self, argv: Sequence[str], **variables: str) -> processes.Child:
        """Start a program with more variables; it ends with the question at the latest."""
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            child = self.interview.supervisor.start(
                argv,
                processes.StopPolicy(),
                env=self.environment(**variables),
                stdout=null,
                stderr=null,
            )
        finally:
            os.close(null)
        self.children.append(child)
        return child

    def record_words(
        self, name: str, *options: str, limit: str = "1s", template: str = TEMPLATE
    ) -> tuple[str, ...]:
        """Return the words of `xctrace record` into a bundle of this question, without a target."""
        words = ("record", "--template", template, "--time-limit", limit)
        return (*words, "--output", str(self.bundle(name)), "--no-prompt", *options)

    def export_toc(self, bundle: Path) -> tuple[int, str]:
        """Export the table of contents of a bundle; return the exit code and the text.

        It is written to a file: it names the machine, and so it is not part of a report.
        """
        file = self.folder / f"{bundle.stem}.toc.xml"
        command = self.run("export", "--input", str(bundle), "--output", str(file), "--toc")
        if not file.exists():
            return command.returncode, ""
        return command.returncode, file.read_text(errors="replace")

    def bundle(self, name: str) -> Path:
        """Return the path of a bundle of this question."""
        return (self.folder / f"{name}.trace").absolute()


def _record_plainly(trial: Trial, bundle: Path) -> PlainRecording:
    """Record a second of a sleeping program, and measure the parts of the recording.

    The program writes down when it runs, because a launched one may be left asleep.
    """
    mark = trial.folder / "runs"
    code = f"import time; open({str(mark)!r}, 'w').write(str(time.time())); time.sleep(10)"
    words = ("record", "--template", TEMPLATE, "--time-limit", f"{_PLAIN_SECONDS}s")
    words = (*words, "--output", str(bundle))
    process = trial.start(*words, "--no-prompt", "--launch", "--", *run_code(code))
    watch = _PartWatch(process)
    start = watch.await_line("start-seconds", 0, "line-started")
    started_at = time.time()
    end = start + _PLAIN_SECONDS
    stop = watch.await_line("limit-slack-seconds", end, "line-limit", "line-exited")
    watch.seconds["idle-seconds"] = _measure_idle_time(mark, started_at, stop - start)
    watch.await_line("stopping-seconds", stop, "line-completed", "line-failed", "line-saved")
    saved = watch.await_line("saving-seconds", stop, "line-saved")
    try:
        command = process.finish()
    except OutOfTimeError as error:
        watch.seconds["exit-seconds"] = LongerThan(round(process.seconds - saved, 1))
        raise OutOfTimeError(str(error), watch.seconds) from error
    watch.seconds["saving-seconds"] = round(command.seconds - stop, 1)
    watch.seconds["exit-seconds"] = round(max(0.0, command.seconds - saved), 1)
    return PlainRecording(bundle, command, watch.seconds)


@dataclass(frozen=True)
class _PartWatch:
    """Measures the parts of a recording, by the lines that end them."""

    process: ToolProcess
    seconds: dict[str, Answer] = field(default_factory=dict[str, Answer])

    def await_line(self, belief: str, since: float, *lines: str) -> float:
        """Wait for one of these lines; note the seconds `since` a moment, and return those of all.

        If the time of the question is over, a bound is noted.
        """
        try:
            moment = self.process.wait_for(*lines)
        except OutOfTimeError as error:
            self.seconds[belief] = LongerThan(round(max(0.0, self.process.seconds - since), 1))
            raise OutOfTimeError(str(error), self.seconds) from error
        self.seconds[belief] = round(max(0.0, moment - since), 1)
        return moment


def _measure_idle_time(mark: Path, started_at: float, recorded: float) -> Answer:
    """Return the seconds from the start of a recording until its launched program ran."""
    try:
        ran_at = float(mark.read_text())
    except (OSError, ValueError):
        return LongerThan(round(recorded, 1))
    return round(max(0.0, ran_at - started_at), 1)
