"""Samples a process from outside: CPU time, memory, threads, context switches."""

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from tracekit.base import ToolError
from tracekit.workload import journal


@dataclass(frozen=True)
class ProcessSample:
    """The readings of the operating system for a process at one moment."""

    at: int  # monotonic ns
    cpu: int  # ns of CPU time so far
    memory: int  # resident bytes
    threads: int
    voluntary: int
    involuntary: int | None  # None if this system does not count them
    machine: int  # ns of CPU time that all processes have used so far


class Sampler:
    """Takes samples of one process and appends each to a file of JSON lines as it comes."""

    def __init__(self, pid: int, path: Path) -> None:
        """Open process `pid`, which must not have been reaped yet."""
        self._process = psutil.Process(pid)
        self._threads: dict[str, tuple[int, int]] = {}  # context switches, of ended ones too
        self._journal = journal.Journal(path)

    def take(self) -> None:
        """Take one sample, unless the process is gone; raise ToolError without permission."""
        try:
            sample = self._sample()
        except (psutil.NoSuchProcess, ProcessLookupError):
            return
        except psutil.AccessDenied:
            pid = self._process.pid
            raise ToolError(
                f"The process {pid} may not be looked at.", hint="Attach to a process of your own."
            ) from None
        self._journal.append(sample)

    def close(self) -> None:
        """Close the file; the samples taken are safe without it."""
        self._journal.close()

    def _sample(self) -> ProcessSample:
        process = self._process
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                raise psutil.NoSuchProcess(process.pid)
            voluntary, involuntary = self._switches()
            return ProcessSample(
                at=time.monotonic_ns(),
                cpu=_cpu_time(process),
                memory=process.memory_info().rss,
                threads=process.num_threads(),
                voluntary=voluntary,
                involuntary=involuntary,
                machine=_machine_time(),
            )

    def _switches(self) -> tuple[int, int | None]:
        """Return the voluntary and the involuntary switches so far; None if they are unknown."""
        if sys.platform != "linux":
            switches = self._process.num_ctx_switches()
            if sys.platform == "darwin":
                # psutil returns 0 involuntary ones on macOS, where the kernel does not count them
                return switches.voluntary, None
            return switches.voluntary, switches.involuntary
        # psutil counts those of the first thread alone, which mostly waits for the others
        for status in Path(f"/proc/{self._process.pid}/task").glob("*/status"):
            with suppress(OSError):
                *_, voluntary, involuntary = status.read_bytes().split(b"ctxt_switches:")
                self._threads[status.parent.name] = (
                    int(voluntary.split()[0]),
                    int(involuntary.split()[0]),
                )
        voluntary_sum = 0
        involuntary_sum = 0
        for thread_voluntary, thread_involuntary in self._threads.values():
            voluntary_sum += thread_voluntary
            involuntary_sum += thread_involuntary
        return voluntary_sum, involuntary_sum


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


def _cpu_time(process: psutil.Process) -> int:
    if sys.platform == "linux":
        # psutil counts in ticks of 10 ms, too coarse between two samples; the kernel keeps
        # a clock for each process, numbered as clock_getcpuclockid(3) does.
        try:
            return time.clock_gettime_ns((~process.pid << 3) | 2)
        except OSError:
            raise psutil.NoSuchProcess(process.pid) from None
    times = process.cpu_times()
    return round((times.user + times.system) * 1e9)


def _machine_time() -> int:
    times = psutil.cpu_times()._asdict()
    # Linux counts the time of guests in user and nice already
    unused = ("idle", "iowait", "guest", "guest_nice")
    return round(sum(times[name] for name in times if name not in unused) * 1e9)
