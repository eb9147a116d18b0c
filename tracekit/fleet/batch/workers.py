"""The workers of a batch: processes of this machine, or a cluster that is there already."""

import logging
import signal
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, cast

from dask import config
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster, Status
from distributed.system import MEMORY_LIMIT

from tracekit.base import ToolError, UsageError, send_signal, shield_signals

_EACH = 1 << 30  # bytes that a worker wants at least
_PATIENCE = 20  # s in which a scheduler has to answer
_LOST = 30.0  # s after which a worker that does not come back is given up
_START = 60.0  # s in which all workers should have started
_HASTE = 1.5  # s that an interrupted batch takes at most to end them
_POLL = 0.02
_TALKERS = ("distributed", "distributed.client", "tornado", "tornado.application")
_SETTINGS = {
    # A recording that kills its worker twice is set aside, and tried once more alone.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.http.routes": [],
    # Memory that analyses leave behind must not pause a worker for good, nor is there any to spill.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.comm.retry.count": 2,
}


@dataclass(frozen=True)
class Workers:
    """Who analyses: so many processes of this machine, or None for a cluster elsewhere."""

    client: Client
    processes: int | None = None

    @property
    def addresses(self) -> dict[str, int]:
        """The workers there are now, and how many recordings each can analyse at once."""
        return cast("dict[str, int]", self.client.nthreads())

    def refill(self) -> None:
        """Start processes in the place of those that were given up.

        A nanny restarts a worker that died, but not one that dies while it starts; a batch would
        wait for it without end.
        """
        if self.client.cluster is not None and self.processes is not None:
            self.client.cluster.scale(self.processes)

    def see(self, paths: Sequence[Path]) -> bool:
        """Tell whether every worker sees these files."""
        names = [str(path) for path in paths]

        def seen() -> bool:
            import os.path  # noqa: PLC0415  sent as it is, to workers that may not have us

            return all(os.path.exists(name) for name in names)  # noqa: PTH110

        answers = cast("dict[str, bool]", self.client.run(seen))
        return all(answers.values())


def fitting(recordings: int) -> int:
    """Return how many processes fit this machine: a core and a GiB of memory for each."""
    return max(1, min(CPU_COUNT, int(MEMORY_LIMIT // _EACH), recordings))


@contextmanager
def local_workers(number: int, scratch: Path) -> Generator[Workers]:
    """Start processes of this machine, reached on loopback alone; they end with the context.

    One that dies, or takes more than its share of the memory, is replaced.
    """
    with ExitStack() as stack:
        stack.enter_context(config.set(_SETTINGS))
        stack.enter_context(config.set({"distributed.deploy.lost-worker-timeout": f"{_LOST}s"}))
        stack.enter_context(_quietly())
        with shield_signals():  # a cluster that is half there cannot be closed
            made: Any = stack.enter_context(
                LocalCluster(
                    n_workers=0,  # they take seconds to start, and that may be interrupted
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    local_directory=str(scratch),
                    memory_limit=int(MEMORY_LIMIT / number),
                    silence_logs=logging.CRITICAL,
                    preload=["tracekit.fleet.batch.analysing"],
                )
            )
            client = stack.enter_context(Client(made))
            stack.enter_context(_ended_at_once(made))
        made.scale(number)
        with suppress(TimeoutError):  # after a while those that are there must do
            client.wait_for_workers(number, timeout=_START)
        if not client.nthreads():
            raise ToolError(
                f"No worker process came up within {_START:g} s.",
                hint="Try again when the machine has less to do, or with --workers 1.",
            )
        yield Workers(client, number)


@contextmanager
def _ended_at_once(cluster: Any) -> Generator[None]:
    """Where the context is left by an interrupt, kill the workers, so that none is waited for.

    One that starts hears nothing for seconds, and one that works only after its task. What they
    were at is theirs alone: rows and tables are written by whoever runs the batch, or whole.
    """
    try:
        yield
    except KeyboardInterrupt:
        with shield_signals():
            closing = Thread(target=_close, args=(cluster,), daemon=True)
            closing.start()
            until = monotonic() + _HASTE
            while closing.is_alive() and monotonic() < until:
                _kill(cluster)
                closing.join(_POLL)
            cluster.status = Status.closed  # whatever is left, nobody waits for it once more
        raise


def _close(cluster: Any) -> None:
    with suppress(Exception):  # it may be in any state; its processes are gone
        cluster.close(timeout=_HASTE)


def _kill(cluster: Any) -> None:
    """Kill the processes of all workers, those that start too, and let nobody replace them."""
    for nanny in tuple(cluster._created):  # noqa: SLF001  those that start have no other name
        if nanny.status not in {Status.closing, Status.closed}:
            cluster.loop.add_callback(nanny.close_gracefully)
        if pid := nanny.pid:
            send_signal(pid, signal.SIGKILL)


@contextmanager
def workers_of(scheduler: str) -> Generator[Workers]:
    """Connect to the scheduler of a cluster whose workers have the same tracekit as this machine.

    Raises:
        UsageError: The address is none.
        ToolError: Nobody answers there, or workers are missing or have another tracekit.
    """
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ToolError(
            f"No scheduler answers at {scheduler}.",
            hint="`dask scheduler` prints its address; see that this machine may reach it.",
        ) from error
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{scheduler} is no address of a scheduler: {error}.", hint="Write tcp://HOST:8786."
        ) from error
    with client, _quietly():
        workers = Workers(client)
        require_same(client, scheduler)
        yield workers


@contextmanager
def _quietly() -> Generator[None]:
    """Keep what the cluster says of its own life to itself: rows say what became of recordings."""
    loggers = [logging.getLogger(name) for name in _TALKERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def require_same(client: Client, scheduler: str) -> None:
    """Raise ToolError unless there are workers, and all of them have this version of tracekit."""

    def installed() -> str:
        from importlib import metadata  # noqa: PLC0415  sent as it is

        try:
            return metadata.version("tracekit")
        except metadata.PackageNotFoundError:
            return ""

    found = cast("dict[str, str]", client.run(installed))
    ours = version("tracekit")
    other = {address: theirs for address, theirs in found.items() if theirs != ours}
    if not found:
        raise ToolError(
            f"The cluster at {scheduler} has no worker.",
            hint=f"Start some: dask worker {scheduler}",
        )
    if other:
        address, theirs = next(iter(other.items()))
        has = f"tracekit {theirs}" if theirs else "no tracekit"
        raise ToolError(
            f"{len(other)} of {len(found)} workers, such as {address}, have {has}; "
            f"this machine has {ours}.",
            hint=f"Install tracekit {ours} where they run.",
        )
