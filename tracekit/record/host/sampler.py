"""Samples a process and all that it started: CPU time, memory, threads, context switches.

CPU time of a process that has ended is in that of its parent once the parent has waited for it, as
Linux counts it. macOS keeps no such count, so there its last reading stays in the sum.
"""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from tracekit.base import ToolError
from tracekit.workload import journal

_LISTING = 0.01  # the largest share of a core for listing processes: a list takes 1 ms and more
_LATE = 20_000_000  # ns of an ended process that its parent's count, in ticks, may not have yet


@dataclass(frozen=True)
class ProcessSample:
    """The readings of the operating system for a process and its descendants at one moment."""

    at: int  # monotonic ns
    cpu: int  # ns of CPU time so far
    memory: int  # resident bytes; pages that processes share count in each
    threads: int
    voluntary: int
    involuntary: int | None  # None if this system does not count them
    machine: int  # ns of CPU time that all processes have used so far


@dataclass(frozen=True)
class _Usage:
    cpu: int  # ns, of ended children too
    children: int  # ns, of ended children that it waited for
    memory: int
    threads: int


class Sampler:
    """Takes samples of a process and its descendants; appends each to a file of JSON lines."""

    def __init__(self, pid: int, path: Path) -> None:
        """Open process `pid`, which must not have been reaped yet."""
        self._process = psutil.Process(pid)
        self._family = [self._process]  # each after its parent
        self._next_listing = 0.0  # in seconds of the monotonic clock
        self._cpu = 0
        self._lost_cpu = 0  # of ended processes that no parent has waited for
        self._usages: dict[psutil.Process, _Usage] = {}  # at the last sample
        self._switches: dict[int, tuple[int, int | None]] = {}  # of ended threads too
        self._hidden: set[psutil.Process] = set()
        self._journal = journal.Journal(path)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about processes whose use the samples lack."""
        if not self._hidden:
            return ()
        warning = (
            f"{len(self._hidden)} of the processes that the program started may not be looked at: "
            "their CPU time counts as that of others, and their memory is not counted."
        )
        return (warning,)

    def take(self) -> float:
        """Take one sample, unless the process is gone; return the seconds of CPU time it took.

        Raise ToolError without permission.
        """
        start = time.thread_time()
        try:
            sample = self._sample()
        except (psutil.NoSuchProcess, ProcessLookupError):
            return 0.0
        except psutil.AccessDenied:
            pid = self._process.pid
            raise ToolError(
                f"The process {pid} may not be looked at.", hint="Attach to a process of your own."
            ) from None
        self._journal.append(sample)
        return time.thread_time() - start

    def close(self) -> None:
        """Close the file; the samples taken are safe without it."""
        self._journal.close()

    def _sample(self) -> ProcessSample:
        if time.monotonic() >= self._next_listing:
            self._list_family()
        read_usages = self._read_family()
        moment = time.monotonic_ns()
        self._lost_cpu += self._find_loss(read_usages)
        self._usages = read_usages
        usages = read_usages.values()
        cpu = self._lost_cpu + sum(usage.cpu for usage in usages)
        self._cpu = max(self._cpu, cpu)
        voluntary = 0
        involuntary: int | None = 0
        for thread_voluntary, thread_involuntary in self._switches.values():
            voluntary += thread_voluntary
            if thread_involuntary is None or involuntary is None:
                involuntary = None
            else:
                involuntary += thread_involuntary
        return ProcessSample(
            at=moment,
            cpu=self._cpu,
            memory=sum(usage.memory for usage in usages),
            threads=sum(usage.threads for usage in usages),
            voluntary=voluntary,
            involuntary=involuntary,
            machine=_machine_time(),
        )

    def _find_loss(self, usages: Mapping[psutil.Process, _Usage]) -> int:
        """Return the CPU time of processes that ended since, unless their parents count it."""
        ended_cpus = [usage.cpu for process, usage in self._usages.items() if process not in usages]
        counted = 0
        for process, usage in usages.items():
            earlier = self._usages.get(process)
            counted += usage.children - (earlier.children if earlier else 0)
        loss = sum(ended_cpus) - counted
        return loss if loss > _LATE * len(ended_cpus) else 0

    def _list_family(self) -> None:
        """List the descendants, and those of a descendant that has another parent by now."""
        start = time.thread_time()
        family = dict.fromkeys((self._process, *self._process.children(recursive=True)))
        for process in self._family:
            if process not in family:
                with suppress(psutil.Error):
                    family.update(dict.fromkeys((process, *process.children(recursive=True))))
        self._family = [process for process in family if process not in self._hidden]
        cost = time.thread_time() - start
        self._next_listing = time.monotonic() + cost / _LISTING

    def _read_family(self) -> dict[psutil.Process, _Usage]:
        """Read all, again if one ended meanwhile, as its time may be its parent's by now."""
        while True:
            usages: dict[psutil.Process, _Usage] = {}
            for process in tuple(self._family):
                try:
                    usages[process] = self._read(process)
                except psutil.Error as error:
                    if process == self._process:
                        raise
                    self._family.remove(process)
                    if isinstance(error, psutil.AccessDenied):
                        self._hidden.add(process)
            if len(usages) == len(self._family):
                return usages

    def _read(self, process: psutil.Process) -> _Usage:
        with process.oneshot():
            if process == self._process and process.status() == psutil.STATUS_ZOMBIE:
                raise psutil.NoSuchProcess(process.pid)
            self._count_switches(process)
            own, children = _cpu_times(process)
            memory = process.memory_info().rss
            return _Usage(own + children, children, memory, process.num_threads())

    def _count_switches(self, process: psutil.Process) -> None:
        """Count the voluntary and the involuntary switches so far; None if they are unknown."""
        if sys.platform != "linux":
            switches = process.num_ctx_switches()
            # psutil returns 0 involuntary ones on macOS, where the kernel does not count them
            involuntary = None if sys.platform == "darwin" else switches.involuntary
            self._switches[process.pid] = (switches.voluntary, involuntary)
            return
        # psutil counts those of the first thread alone, which mostly waits for the others
        for status in Path(f"/proc/{process.pid}/task").glob("*/status"):
            with suppress(OSError):
                *_, voluntary, involuntary = status.read_bytes().split(b"ctxt_switches:")
                self._switches[int(status.parent.name)] = (
                    int(voluntary.split()[0]),
                    int(involuntary.split()[0]),
                )


def read_samples(path: Path) -> list[ProcessSample]:
    """Read samples back; a line cut in half ends them, and a missing file has none."""
    samples: list[ProcessSample] = []
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return samples
    for line in lines:
        try:
            samples.append(msgspec.json.decode(line, type=ProcessSample))
        except msgspec.MsgspecError:
            break
    return samples


def process_name(pid: int) -> str:
    """Return the name that the system has for a process, empty once it is gone."""
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return ""


def _cpu_times(process: psutil.Process) -> tuple[int, int]:
    """Return the CPU time of a process, and of its children that ended and were waited for.

    macOS keeps no such count of children.
    """
    times = process.cpu_times()
    if sys.platform == "linux":
        # psutil counts in ticks of 10 ms, too coarse between two samples; the kernel keeps
        # a clock for each process, numbered as clock_getcpuclockid(3) does.
        try:
            own_time = time.clock_gettime_ns((~process.pid << 3) | 2)
        except OSError:
            raise psutil.NoSuchProcess(process.pid) from None
        return own_time, round((times.children_user + times.children_system) * 1e9)
    return round((times.user + times.system) * 1e9), 0


def _machine_time() -> int:
    times = psutil.cpu_times()._asdict()
    # Linux counts the time of guests in user and nice already
    unused = ("idle", "iowait", "guest", "guest_nice")
    return round(sum(times[name] for name in times if name not in unused) * 1e9)
