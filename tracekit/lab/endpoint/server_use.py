"""Find the process of a server, and sample the processor time and memory that it uses."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import psutil

from tracekit.lab.endpoint.client import LOCAL_HOSTS
from tracekit.machine import sampler

INTERVAL = 0.5  # seconds between two samples, and between two lists of its children


@dataclass(frozen=True)
class ServerUse:
    """The use of a server's process and its children: cores on average, resident bytes at most."""

    pid: int
    name: str
    samples: int
    cores: float | None
    peak_memory: int | None


@dataclass(frozen=True)
class IdleMemory:
    """The memory of an idle server in bytes: a look that takes a while, so that it is never timed.

    `private` belongs to its processes alone (USS). `footprint`, and `accelerator` in regions of the
    GPU, are those of its main process by vmmap, which only macOS has. None is not known.
    """

    private: int | None
    footprint: int | None
    accelerator: int | None


def find_server(url: str) -> tuple[int | None, str]:
    """Return the process that listens on the port of a URL, or None and the reason."""
    address = urlsplit(url)
    if address.hostname not in LOCAL_HOSTS:
        return None, f"{address.hostname} is another machine"
    port = address.port or (443 if address.scheme == "https" else 80)
    for process in psutil.process_iter():
        try:
            connections = process.net_connections(kind="tcp")
        except psutil.Error:
            continue
        for connection in connections:
            listens = connection.status == psutil.CONN_LISTEN
            if listens and connection.laddr and connection.laddr.port == port:
                return process.pid, ""
    return None, f"no process that this user may look at listens on port {port}; --pid names it"


class ServerWatch:
    """Samples a process and its children in a thread, as long as a `with` block runs."""

    def __init__(self, pid: int, interval: float = INTERVAL) -> None:
        self._process = psutil.Process(pid)
        self._interval = interval
        self._family = [self._process]
        self._listed_at = -INTERVAL  # seconds of the monotonic clock
        self._name = self._process.name()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._times: list[tuple[float, float]] = []
        self._levels: list[tuple[int, int]] = []  # moments as of perf_counter_ns, and bytes

    def __enter__(self) -> Self:
        """Begin to sample."""
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, after one more sample."""
        self._stop.set()
        self._thread.join()
        self._look()

    def use(self) -> ServerUse:
        """Return the use between the first and the last sample."""
        cores = None
        if len(self._times) > 1:
            (first_moment, first_cpu), (last_moment, last_cpu) = self._times[0], self._times[-1]
            if last_moment > first_moment:
                cores = max(0.0, last_cpu - first_cpu) / (last_moment - first_moment)
        sizes = [size for _, size in self._levels]
        peak = max(sizes, default=None)
        return ServerUse(self._process.pid, self._name, len(self._times), cores, peak)

    def level_at(self, moment: int) -> int | None:
        """Return the resident bytes of the last sample up to a moment of `perf_counter_ns`."""
        level = None
        for sample_moment, size in self._levels:
            if sample_moment <= moment:
                level = size
        return level

    def peak_within(self, spans: Iterable[tuple[int, int]]) -> int | None:
        """Return the most resident bytes of the samples in these spans; None if there is none."""
        peak = None
        for start, end in spans:
            for moment, size in self._levels:
                if start <= moment <= end:
                    peak = max(peak or 0, size)
        return peak

    def read_idle_memory(self) -> IdleMemory:
        """Look at the memory of the idle server by kinds."""
        private = None
        with suppress(psutil.Error):
            family = [self._process, *self._process.children(recursive=True)]
            private = sum(process.memory_full_info().uss for process in family)
        regions = sampler.read_vmmap(self._process.pid)
        return IdleMemory(private, regions["footprint"], regions["accelerator"])

    def _sample(self) -> None:
        while not self._stop.wait(self._interval):
            self._look()

    def _look(self) -> None:
        cpu = 0.0
        memory = 0
        try:
            self._list_family()
            for process in self._family:
                times = process.cpu_times()
                cpu += times.user + times.system
                memory += process.memory_info().rss
        except psutil.Error:
            self._listed_at = -INTERVAL
            return  # it ended, or a child did: this sample is none
        self._times.append((time.monotonic(), cpu))
        self._levels.append((time.perf_counter_ns(), memory))

    def _list_family(self) -> None:
        """List the children, twice a second at most: a list takes far longer than a sample."""
        moment = time.monotonic()
        if moment - self._listed_at >= INTERVAL:
            self._family = [self._process, *self._process.children(recursive=True)]
            self._listed_at = moment
