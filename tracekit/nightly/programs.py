"""Two programs against each other, now: run in turns until their difference is known.

Any program can be a side: the speed that it prints counts, or else the time of a run. Each run is
a fresh process, and a sample as `compare` reads it from a capture, so the same judgement decides.
"""

import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.analysis import Better, Measurement, Result
from tracekit.base import (
    InconclusiveError,
    Provenance,
    ToolError,
    UsageError,
    make_timestamp,
    paired,
    processes,
    programs,
    system,
)
from tracekit.comparison import (
    Comparison,
    Difference,
    Limits,
    Sample,
    Weight,
    compare,
    is_unconfirmed,
)
from tracekit.machine import State, StateLimits, Watch, find_rejections
from tracekit.nightly.ab import PairEffort, SessionClock, find_widest, uncounted_words
from tracekit.nightly.session.busy_notice import with_busy_notice
from tracekit.nightly.session.program import Program, last_words, run_timed
from tracekit.record import Progress, Supervisor, quiet, throughput
from tracekit.record import patterns as record_patterns
from tracekit.workload import WALL_TIME, Measured

Argv = tuple[str, ...]
_LONGEST = 3600.0  # seconds of one run
_SECOND = 1e9


def parse_programs(words: Sequence[str]) -> tuple[Argv, Argv]:
    """Part `A ARGS -- B ARGS` into two command lines; raise UsageError if that fails."""
    places = [place for place, word in enumerate(words) if word == "--"]
    if len(places) != 1 or places[0] in {0, len(words) - 1}:
        raise UsageError(
            "Name two programs, one on each side of a single --.",
            hint="tracekit bench ab -- ./main-old ARGS -- ./main-new ARGS",
        )
    [place] = places
    old_argv = tuple(words[:place])
    new_argv = tuple(words[place + 1 :])
    for argv in (old_argv, new_argv):
        programs.require_program(argv[0], os.environ.get("PATH"))
    return old_argv, new_argv


def measure_programs(
    old_argv: Argv,
    new_argv: Argv,
    *,
    patterns: Sequence[record_patterns.Pattern] = (),
    effort: PairEffort | None = None,
    limits: Limits | None = None,
    progress: Progress = quiet,
) -> Comparison:
    """Run both in turns and compare them.

    Each runs once unmeasured, to warm up files and caches. `patterns` read output that tracekit
    does not know. Raise InconclusiveError if no pair counts, and ToolError if a program fails.
    """
    system.require_processes("Measuring in turns")
    effort = effort or PairEffort()
    limits = limits or Limits()
    progress = with_busy_notice(progress, effort.state.load if effort.state else None)
    # A program has ended when the machine is looked at, so its share of the GPU is not known.
    state = None
    if effort.state is not None:
        state = replace(effort.state, gpu_others=None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracekit-ab-")))
        supervisor = stack.enter_context(Supervisor(folder))
        runner = _ProgramRunner(folder, supervisor, tuple(patterns))
        progress("warming up")
        for argv in (old_argv, new_argv):
            runner.run(argv)
        watch = None
        if state is not None:
            watch = stack.enter_context(Watch("auto"))
        contest = _Contest(old_argv, new_argv, runner, watch)
        stateful_effort = replace(effort, state=state)
        comparison, note = _measure_pairs(contest, stateful_effort, limits, progress)
    old_line = shlex.join(old_argv)
    new_line = shlex.join(new_argv)
    differences: tuple[Difference, ...] = ()
    if old_line != new_line:
        differences = (Difference("command", old_line, new_line, Weight.MARKED),)
    return replace(
        comparison, before=(old_line,), after=(new_line,), environment=differences, notes=(note,)
    )


@dataclass(frozen=True)
class _RunPair:
    """One run of each side, and the machine before and after both."""

    old_sample: Sample
    new_sample: Sample
    earlier_state: State | None = None
    later: State | None = None

    def reject(self, session_states: Sequence[State], state: StateLimits | None) -> tuple[str, ...]:
        """Return why the pair does not count; empty if it does."""
        if state is None:
            return ()
        return find_rejections(self.earlier_state, self.later, session_states, state)


@dataclass(frozen=True)
class _Contest:
    """Both programs, their runner, and a watch of the machine if its state matters."""

    old_argv: Argv
    new_argv: Argv
    runner: "_ProgramRunner"
    watch: Watch | None

    def run_pair(self, *, swapped: bool) -> _RunPair:
        """Run both, the second one first if they are swapped."""
        state_before = None
        if self.watch is not None:
            state_before = self.watch.before((os.getpid(),))
        if swapped:
            new_sample = self.runner.run(self.new_argv)
            old_sample = self.runner.run(self.old_argv)
        else:
            old_sample = self.runner.run(self.old_argv)
            new_sample = self.runner.run(self.new_argv)
        state_after = None
        if self.watch is not None:
            state_after = self.watch.after()
        return _RunPair(old_sample, new_sample, state_before, state_after)


def _measure_pairs(
    contest: _Contest, effort: PairEffort, limits: Limits, progress: Progress
) -> tuple[Comparison, str]:
    """Measure pairs until the intervals that decide are narrow enough, or time is spent.

    Return the comparison of those that count, and a sentence on how many these are.
    """
    measured = _ProgramPairs(effort, limits)
    for session in (1, 2):
        while not measured.pairs or not measured.clock.is_spent():
            is_swapped = len(measured.pairs) % 2 == 1
            measured.add(contest.run_pair(swapped=is_swapped))
            progress(measured.number)
            if measured.is_over(session):
                break
        if measured.clock.is_spent() or not measured.is_unconfirmed:
            break
        measured.begin_second_session()
    return measured.require_comparison(), measured.describe()


class _ProgramPairs:
    """The pairs of two programs so far, their comparison, and whether more are needed."""

    def __init__(self, effort: PairEffort, limits: Limits) -> None:
        self.pairs: list[_RunPair] = []
        self.clock = SessionClock(effort)
        self._effort = effort
        self._limits = limits
        self._reasons: list[tuple[str, ...]] = []
        self._of_first_session = 0  # pairs, once there is a second session
        self._comparison: Comparison | None = None

    def add(self, pair: _RunPair) -> None:
        """Add a pair, and compare all that count."""
        self.pairs.append(pair)
        session_states: list[State] = []
        for run_pair in self.pairs:
            session_states += filter(None, (run_pair.earlier_state, run_pair.later))
        limits = self._effort.state
        self._reasons = [run_pair.reject(session_states, limits) for run_pair in self.pairs]
        counting = self._counting()
        if counting:
            self._comparison = self._compare(counting, self._count_first_session())

    def begin_second_session(self) -> None:
        """Let the pairs from now on be those of a second session."""
        self._of_first_session = len(self.pairs)

    @property
    def number(self) -> str:
        """How many pairs count, and in which sessions: "12 of 13 pairs count"."""
        counting = len(self._counting())
        words = f"{counting} of {len(self.pairs)} pairs count"
        if self._of_first_session:
            words += ", in two sessions"
        return words

    @property
    def is_narrow(self) -> bool:
        """Whether the intervals are as narrow as the effort asks for."""
        if self._comparison is None:
            return False
        return find_widest(self._comparison.changes) <= self._effort.max_half_width

    @property
    def is_unconfirmed(self) -> bool:
        """Whether a change may be beyond the limit, and only a second session can tell."""
        if self._comparison is None:
            return False
        return is_unconfirmed(self._comparison.changes, self._limits)

    def is_over(self, session: int) -> bool:
        """Tell whether the session, 1 or 2, has all the pairs that it needs."""
        if session > 1:
            needed_count = 2 * self._count_first_session()
            enough = len(self._counting()) >= needed_count
            return enough or self.clock.is_spent()
        if self.is_unconfirmed and len(self._counting()) < paired.least_pairs():
            return self.clock.is_spent()  # a session of fewer confirms nothing
        return self.clock.ends_first(narrow=self.is_narrow, unconfirmed=self.is_unconfirmed)

    def require_comparison(self) -> Comparison:
        """Return the comparison; raise InconclusiveError if no pair counts."""
        if self._comparison is not None:
            return self._comparison
        uncounted_text = uncounted_words(self._compare(self.pairs).changes)
        raise InconclusiveError(
            f"None of {len(self.pairs)} pairs counts: {self._find_reason()}.{uncounted_text}",
            hint="Wait until the machine is idle, or count all of them: --any-state.",
        )

    def describe(self) -> str:
        """Describe how many pairs count, why others do not, and the end of the measurement."""
        return self._effort.describe(
            self.number,
            self._find_reason(),
            narrow=self.is_narrow,
            out_of_time=self.clock.is_spent(),
        )

    def _compare(self, pairs: Sequence[_RunPair], first_session_pairs: int = 0) -> Comparison:
        old_samples = [pair.old_sample for pair in pairs]
        new_samples = [pair.new_sample for pair in pairs]
        return compare(
            old_samples, new_samples, self._limits, first_session_pairs=first_session_pairs
        )

    def _counting(self) -> list[_RunPair]:
        pairs_with_reasons = zip(self.pairs, self._reasons, strict=True)
        return [pair for pair, reasons in pairs_with_reasons if not reasons]

    def _count_first_session(self) -> int:
        reasons_of_first = self._reasons[: self._of_first_session]
        return sum(not reasons for reasons in reasons_of_first)

    def _find_reason(self) -> str:
        for reasons in self._reasons:
            if reasons:
                return reasons[0].rstrip(".")
        return ""


@dataclass(frozen=True)
class _ProgramRunner:
    """Runs programs to their end, and reads their output."""

    folder: Path
    supervisor: Supervisor
    patterns: tuple[record_patterns.Pattern, ...]

    def run(self, argv: Argv) -> Sample:
        """Run a program once; raise ToolError if it fails, or does not end."""
        output = self.folder / "stdout.txt"
        errors = self.folder / "stderr.txt"
        errors.unlink(missing_ok=True)
        started = make_timestamp()
        program = Program(argv, os.environ, Path.cwd(), errors, output)
        program_run = run_timed(program, self.supervisor, _LONGEST)
        if program_run.status != 0:
            raise ToolError(
                f"{shlex.join(argv)} ended with "
                f"{processes.exit_words(program_run.status)}.{last_words(errors)}",
                hint="Both programs must succeed: run it alone first.",
            )
        results = throughput.read_texts(
            [throughput.read_printed(output), throughput.read_printed(errors)], self.patterns
        )
        wall_time = Measured(float(program_run.length), "ns", "lower")
        results.setdefault(WALL_TIME, wall_time)
        measurements = [_make_measurement(name, result) for name, result in results.items()]
        provenance = Provenance(command=argv, started=started)
        return Sample(
            shlex.join(argv),
            Result(provenance, results=tuple(measurements)),
            absence="it was measured once in each run.",
        )


def _make_measurement(name: str, result: Measured) -> Measurement:
    return Measurement(
        name,
        result.value,
        result.unit,
        Better(result.better),
        result.reason,
        result.samples,
        result.deviation,
    )
