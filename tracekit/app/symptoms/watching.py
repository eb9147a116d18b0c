"""One run of a program without a recorder: its end, its first output, its memory and swap.

The standard output and error of the program are files of the checklist's folder.
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tracekit import record
from tracekit.base import TracekitError, processes, programs, system

_POLL = 0.01  # seconds between two looks at the output
_PERIOD = 0.05  # seconds between two samples of memory
_REGIONS_PERIOD = 2.0  # seconds between two looks at its regions
PARTS = 8  # of a time in which memory is judged
_STOP = processes.StopPolicy(
    ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (system.SIGKILL, 5.0)), group=True
)


@dataclass
class MemoryUse:
    """Memory of a program and its children, and of the machine meanwhile, in bytes.

    `peak` is the most resident memory in any sample, None without a sample; pages that processes
    share count in each. `levels` are all samples, with seconds from the start. `least_available`
    is the machine's. The swap figures are the machine's swap in use at the start of the run and
    the most during it; `swap_total` is 0 on a machine without swap. `regions` are the most bytes of
    each kind of region of the main process, by vmmap; empty where it was not asked or is not known.
    """

    peak: int | None = None
    least_available: int = field(default_factory=lambda: psutil.virtual_memory().available)
    machine_total: int = field(default_factory=lambda: psutil.virtual_memory().total)
    swap_total: int = field(default_factory=lambda: psutil.swap_memory().total)
    swap_at_start: int = field(default_factory=lambda: psutil.swap_memory().used)
    swap_peak: int = 0
    levels: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    regions: dict[str, int] = field(default_factory=dict[str, int])

    def note_regions(self, sizes: Mapping[str, int | None]) -> None:
        """Keep the largest size of each kind of region."""
        for kind, size in sizes.items():
            if size is not None:
                self.regions[kind] = max(size, self.regions.get(kind, 0))

    def sample(self, family: set[psutil.Process], moment: float) -> None:
        """Read the memory of these processes and of the machine, seconds after the start."""
        resident = 0
        for process in family:
            with suppress(psutil.Error):
                resident += process.memory_info().rss
        if resident:
            self.peak = max(self.peak or 0, resident)
            self.levels.append((moment, resident))
        self.least_available = min(self.least_available, psutil.virtual_memory().available)
        self.swap_peak = max(self.swap_peak, psutil.swap_memory().used)

    def lowest_levels(self, start: float, end: float) -> list[int]:
        """Return the lowest level in each of `PARTS` equal parts of a time, by its samples.

        The result is empty if there are fewer samples than parts.
        """
        levels: list[int] = []
        for moment, resident in self.levels:
            if start <= moment < end:
                levels.append(resident)
        if len(levels) < PARTS:
            return []
        lowest: list[int] = []
        for part in range(PARTS):
            begin = part * len(levels) // PARTS
            lowest.append(min(levels[begin : (part + 1) * len(levels) // PARTS]))
        return lowest


@dataclass(frozen=True)
class WatchedRun:
    """A run of a program that has ended.

    Attributes:
        exit_status: Its exit status, negative for a signal.
        seconds: The time from its start to its end.
        is_over_limit: Whether it was stopped because it reached the time limit.
        first_output: Seconds from its start to the first byte on its standard output, to 10 ms;
            None if there was none.
        memory: The memory while it ran.
        folder: The folder with its `stdout.txt` and `stderr.txt`.
    """

    exit_status: int
    seconds: float
    is_over_limit: bool
    first_output: float | None
    memory: MemoryUse
    folder: Path

    @property
    def stdout(self) -> Path:
        """The file with its standard output."""
        return self.folder / "stdout.txt"

    @property
    def stderr(self) -> Path:
        """The file with its standard error."""
        return self.folder / "stderr.txt"


ReadRegions = Callable[[int], Mapping[str, int | None]]
"""Returns the memory of a process by kinds of regions, in bytes."""


def watch_program(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    limit: float,
    read_regions: ReadRegions | None = None,
) -> WatchedRun:
    """Run a program in its own process group, for `limit` seconds at most.

    An interruption or an error ends it, and all that it started; its output stays in the folder.
    `read_regions` is called every two seconds: it may pause the program.

    Raises:
        ToolError: It cannot be started.
    """
    folder.mkdir(parents=True)
    memory = MemoryUse()
    with (
        (folder / "stdout.txt").open("wb") as stdout,
        (folder / "stderr.txt").open("wb") as stderr,
        record.Supervisor(folder) as supervisor,
    ):
        start_time = time.monotonic()
        try:
            child = supervisor.start(argv, _STOP, env=environment, stdout=stdout, stderr=stderr)
        except OSError as error:
            raise _make_start_error(argv, error) from error
        try:
            times = (start_time, limit)
            first_output, end_time = _follow(child, memory, folder, times, read_regions)
            is_over_limit = child.exit_status is None
            child.stop()
        except KeyboardInterrupt:
            child.stop()
            raise
        finally:
            child.clean_up()
            supervisor.forget(child.pid)
    return WatchedRun(
        exit_status=child.process.returncode,
        seconds=end_time - start_time,
        is_over_limit=is_over_limit,
        first_output=first_output,
        memory=memory,
        folder=folder,
    )


def _follow(
    child: processes.Child,
    memory: MemoryUse,
    folder: Path,
    times: tuple[float, float],
    read_regions: ReadRegions | None,
) -> tuple[float | None, float]:
    """Follow a program until it ends or reaches the limit; return its first output and the end.

    `times` are its start and the limit.
    """
    start_time, limit = times
    first_output = None
    regions_time = start_time
    output_file = folder / "stdout.txt"
    main_process = psutil.Process(child.pid)
    sample_time = start_time
    while True:
        has_ended = child.exit_status is not None
        moment = time.monotonic()
        if first_output is None and output_file.stat().st_size:
            first_output = moment - start_time
        if has_ended or moment - start_time >= limit:
            return first_output, moment
        if moment >= sample_time:
            child.note_descendants()
            memory.sample({main_process, *child.descendants}, moment - start_time)
            sample_time = moment + _PERIOD
        if read_regions is not None and moment >= regions_time and memory.levels:
            memory.note_regions(read_regions(child.pid))
            regions_time = moment + _REGIONS_PERIOD
        child.wait(_POLL)


def _make_start_error(argv: Sequence[str], error: OSError) -> TracekitError:
    hint = ""
    if isinstance(error, programs.ProgramError):
        hint = error.hint
    return TracekitError(f"{argv[0]} cannot be started: {error.strerror}.", hint=hint)
