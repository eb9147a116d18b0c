"""The processes that analyse: killable ones, of this machine or of the workers of a cluster.

An analysis may hang, crash or take all memory, whatever its source. So it runs in a process of its
own, which analyses one recording after the other, and is started again after a forced end.
"""
# ruff: noqa: PLC0415 - `distributed` takes half a second to load, and no other command needs it

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import Pipe
from pathlib import Path
from queue import LifoQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import psutil

from tracekit.base import ToolError, UsageError, distribution, own_version, processes, units
from tracekit.fleet.batch.results import BatchRow
from tracekit.fleet.batch.tasks import Task

if TYPE_CHECKING:
    from distributed import Client

Rows = tuple[BatchRow, ...]

_EACH = 1 << 30  # bytes that a process needs at least
_AHEAD = 2  # tasks for each process: one that runs, and one that waits
_MEMORY_LIMITS = (
    *("memory/memory.limit_in_bytes", "memory/memory.soft_limit_in_bytes"),
    *("memory.max", "memory.high"),
)
_LOOK = 0.2  # s between two looks at a process
_PATIENCE = 20  # s in which a scheduler has to answer
_TALKERS = ("distributed", "distributed.client", "tornado", "tornado.application")
_SERVE = "import sys; from tracekit.fleet.batch.analysing import serve; serve(int(sys.argv[1]))"
_DIED = "The process that analysed it died: somebody killed it, or it crashed."
_LARGER = "Try it with a larger share of the memory: --workers 1 --retry-failed."
_LATER = "Give it more time with --time-limit, and --retry-failed."


class Analyst:
    """A process that analyses; it is started when it is first needed, and again if it ended.

    `memory` are the bytes that it may take.
    """

    def __init__(self, scratch: str, memory: float) -> None:
        """Keep private files in a folder `scratch`."""
        self._scratch = scratch
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def analyse(self, task: Task, seconds: float) -> Rows:
        """Return the rows of a task; if the process does not survive it, one with the reason."""
        with tempfile.TemporaryDirectory(
            prefix="tracekit-", dir=self._scratch, ignore_cleanup_errors=True
        ) as folder:
            try:
                return self._await_rows(task, folder, seconds)
            except (EOFError, OSError, psutil.Error):
                return self._end_with_failure(task, _DIED, _LARGER)

    def _await_rows(self, task: Task, folder: str, seconds: float) -> Rows:
        """Send a task and wait for its rows, unless it takes too much time or memory."""
        process = self._ensure_process()
        self._pipe.send((task, folder))
        deadline = monotonic() + seconds
        while not self._pipe.poll(_LOOK):
            if monotonic() > deadline:
                message = f"It took longer than {units.span(seconds)}."
                return self._end_with_failure(task, message, _LATER)
            used_memory = psutil.Process(process.pid).memory_info().rss
            if used_memory > self._memory:
                message = (
                    f"It took {units.size(used_memory)} of memory; its share is "
                    f"{units.size(self._memory)}."
                )
                return self._end_with_failure(task, message, _LARGER)
        return cast("Rows", self._pipe.recv())

    def _end_with_failure(self, task: Task, error: str, hint: str) -> Rows:
        self._end()
        return (replace(task.row, error=error, hint=hint),)

    def _ensure_process(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._process is None and not self._closed:
                self._pipe, theirs = Pipe()
                with theirs:
                    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", "-c", _SERVE, str(theirs.fileno())],
                        pass_fds=[theirs.fileno()],
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        start_new_session=True,  # a terminal's interrupt is the batch's to handle
                    )
            if self._process is None:
                raise EOFError
            return self._process

    def close(self) -> None:
        """End the process, whatever it does, for good."""
        self._closed = True
        self._end()

    def __del__(self) -> None:
        """End the process with the thread of a cluster's worker that it belongs to."""
        self.close()

    def _end(self) -> None:
        with self._lock:
            if self._process is not None:
                processes.kill_group(self._process)
                self._process.wait()
                self._process = None


@dataclass(frozen=True)
class Workers:
    """The takers of tasks: `submit` hands one over, `room` is how many should run or wait."""

    submit: Callable[[Task], "Future[Rows]"]
    room: int

    def iter_rows(self, tasks: Iterable[Task]) -> Iterator[Rows]:
        """Yield the rows of each task when it ends, in the order of the ends."""
        remaining_tasks = iter(tasks)
        running: dict[Future[Rows], Task] = {}
        while True:
            room = max(0, self.room - len(running))
            for task in islice(remaining_tasks, room):
                future = self.submit(task)
                running[future] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield _rows(future, running.pop(future))


def _rows(future: "Future[Rows]", task: Task) -> Rows:
    try:
        return future.result()
    except CancelledError as error:
        raise ToolError(
            "The scheduler is gone, or somebody cancelled the batch.",
            hint="The results so far are kept; the same command goes on from there.",
        ) from error
    except Exception as error:  # noqa: BLE001  of a worker that died, or cannot run us
        words = f"{type(error).__name__}: {error}"
        return (replace(task.row, error=words, hint="See the log of the worker."),)


def find_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory of this machine, or of the container that we run in.

    `groups` is the folder of control groups, of version 1 or 2, where Linux has the limits.
    """
    limit = psutil.virtual_memory().total
    for name in _MEMORY_LIMITS:
        with suppress(OSError, ValueError):  # without one, there is no file, or the word "max"
            limit = min(limit, int((groups / name).read_bytes()))
    return limit


@contextmanager
def local_workers(
    number: int | None, recordings: int, scratch: Path, seconds: float
) -> Generator[Workers]:
    """Start processes of this machine; they end with the context, whatever they do.

    Without a `number`, each has a core, a GiB of memory and a recording at least.
    """
    memory = find_memory()
    if number is None:
        from dask.system import CPU_COUNT

        number = max(1, min(CPU_COUNT, memory // _EACH, recordings))
    analysts = [Analyst(str(scratch), memory / number) for _ in range(number)]
    idle: LifoQueue[Analyst] = LifoQueue()
    for analyst in analysts:
        idle.put(analyst)

    def analyse_task(task: Task) -> Rows:
        analyst = idle.get()
        try:
            return analyst.analyse(task, seconds)
        finally:
            idle.put(analyst)

    with ThreadPoolExecutor(number) as threads:
        try:
            yield Workers(lambda task: threads.submit(analyse_task, task), _AHEAD * number)
        finally:
            for analyst in analysts:
                analyst.close()
            threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def workers_of(scheduler: str, seconds: float, shared: Path | None) -> Generator[Workers]:
    """Connect to the scheduler of a cluster whose workers have the same tracekit as this machine.

    `shared` is a file that they must see.
    """
    from distributed import Client

    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ToolError(
            f"No scheduler answers at {scheduler}.",
            hint="`dask scheduler` prints its address; see that this machine may reach it.",
        ) from error
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{scheduler} is not the address of a scheduler: {error}.",
            hint="Write tcp://HOST:8786.",
        ) from error
    with _silence(), client:
        require_fitting(client, scheduler, shared)
        threads = client.get_executor(pure=False)
        threads_by_worker = cast("dict[str, int]", client.nthreads())
        room = _AHEAD * sum(threads_by_worker.values())
        try:
            yield Workers(lambda task: threads.submit(_there, task, seconds), room)
        finally:
            threads.shutdown(wait=False)


@contextmanager
def _silence() -> Generator[None]:
    """Silence the libraries that log failures of recordings, which rows report."""
    levels = {name: logging.getLogger(name).level for name in _TALKERS}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


_thread = threading.local()


def _there(task: Task, seconds: float) -> Rows:
    """Analyse in a process next to the worker that this thread belongs to."""
    from distributed import get_worker

    if not hasattr(_thread, "analyst"):
        worker: Any = get_worker()
        worker_memory = worker.memory_manager.memory_limit or find_memory()
        memory = worker_memory / worker.state.nthreads
        _thread.analyst = Analyst(worker.local_directory, memory)
    return cast("Analyst", _thread.analyst).analyse(task, seconds)


def require_fitting(client: "Client", scheduler: str, shared: Path | None) -> None:
    """Raise unless there are workers, all with this version of tracekit, that see a file."""

    # Its code is sent to workers that may not have tracekit.
    def probe_worker(distribution: str, name: str) -> tuple[str, bool]:
        import os.path
        from importlib import metadata

        try:
            return metadata.version(distribution), os.path.exists(name)  # noqa: PTH110
        except metadata.PackageNotFoundError:
            return "?", False

    worker_states = cast(
        "dict[str, tuple[str, bool]]",
        client.run(probe_worker, distribution.DISTRIBUTION, str(shared)),
    )
    if not worker_states:
        raise ToolError(
            f"The cluster at {scheduler} has no worker.",
            hint=f"Start some: dask worker {scheduler}",
        )
    expected_version = own_version()
    for address, (worker_version, sees_file) in worker_states.items():
        if worker_version != expected_version:
            raise ToolError(
                f"The worker {address} has tracekit {worker_version}; this machine has "
                f"{expected_version}.",
                hint=f"Install tracekit {expected_version} where workers run.",
            )
        if shared is not None and not sees_file:
            raise UsageError(
                f"The worker {address} does not see {shared.parent}, so it cannot keep tables.",
                hint="Leave --tables out, or name a folder on a disk that workers share.",
            )
