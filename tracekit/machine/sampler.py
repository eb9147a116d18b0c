"""Reads a monitor while something else goes on, and the memory of a process by kinds of regions.

Memory of the GPU lies in the regions IOAccelerator and IOAccelerator (graphics). Sizes are in
binary units, rounded as vmmap prints them.
"""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from tracekit.base import StopPolicy, TracekitError, start_child
from tracekit.machine.machine import Machine
from tracekit.machine.monitors import PERIOD, Monitor, Poll, Stream, choose
from tracekit.machine.sources import Taken

NAME = "vmmap"

_COLUMNS = ("VIRTUAL", "RESIDENT", "DIRTY", "SWAPPED", "VOLATILE", "NONVOL", "EMPTY")
_SIZE = r"[\d.]+[BKMGTP]"
_ROW = re.compile(rf"(\S.*?)\s+((?:{_SIZE}\s+)+)(\d+)(?:\s|$)")
_FOOTPRINT = re.compile(rf"Physical footprint:\s+({_SIZE})", re.MULTILINE)
_UNITS = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_OF_GPU = "IOAccelerator"


@dataclass(frozen=True)
class Summary:
    """What a process has in memory, in bytes; None where vmmap does not say.

    `accelerator` is what the regions of the GPU have resident; `remarks` say what could not be
    understood.
    """

    footprint: int | None = None
    accelerator: int | None = None
    remarks: tuple[str, ...] = ()


def vmmap_command(pid: int) -> tuple[str, ...]:
    """Return the command line; whether it pauses the process is not known, so never time it."""
    return ("/usr/bin/vmmap", "-summary", str(pid))


def read_vmmap(text: str) -> Summary:
    """Read a summary; without its table of regions it has none, and a remark says so."""
    footprint = _FOOTPRINT.search(text)
    resident, remarks = _resident(text.splitlines())
    of_gpu = [size for name, size in resident if name.startswith(_OF_GPU)]
    return Summary(
        _bytes(footprint[1]) if footprint else None, sum(of_gpu) if of_gpu else None, remarks
    )


def _resident(lines: list[str]) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    """Return the resident size of each kind of regions, and what could not be understood."""
    head = next((at for at, line in enumerate(lines) if line.startswith("REGION TYPE")), None)
    if head is None:
        return [], (f"{NAME}: there is no table of regions.",)
    words = f"{lines[head - 1] if head else ''} {lines[head]}".split()
    columns = [word for word in words if word in _COLUMNS]
    if "RESIDENT" not in columns:
        names = " ".join(words)
        return [], (f"{NAME}: the table of regions has no column RESIDENT, but: {names}.",)
    place = columns.index("RESIDENT")
    found: list[tuple[str, int]] = []
    for line in lines[head + 1 :]:
        if not line.strip() or line.startswith("TOTAL"):
            break
        row = _ROW.match(line)
        sizes = row[2].split() if row else []
        if row is not None and place < len(sizes):
            found.append((row[1], _bytes(sizes[place])))
    return found, () if found else (f"{NAME}: no row of the table of regions can be read.",)


def _bytes(text: str) -> int:
    return round(float(text[:-1]) * (1 << _UNITS[text[-1]]))


_ENOUGH = 8  # different remarks; more say nothing new
_LONGEST = 1 << 22  # bytes of one sample
_GRACE = 2.0  # seconds for a monitor to end
_STOP = StopPolicy(((signal.SIGTERM, _GRACE), (signal.SIGKILL, _GRACE)), group=True)
_LAST_WORDS = 300

Each = Callable[[str, Taken], None]


class Beside:
    """The monitor and what it gave: `remarks` is complete when the recording is over."""

    def __init__(self, monitor: Monitor | None, each: Each) -> None:
        self.monitor = monitor
        self.readings = 0
        self._remarks: dict[str, None] = {}
        self._each = each

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user must know of the monitor."""
        return tuple(self._remarks)

    def remark(self, *texts: str) -> None:
        """Add remarks, each one once, and not too many."""
        for text in texts:
            if text and len(self._remarks) < _ENOUGH:
                self._remarks[text] = None

    def take(self, source: str, taken: Taken) -> None:
        """Pass a sample on."""
        self.remark(*taken.remarks)
        self._each(source, taken)
        self.readings += len(taken.readings)


@contextmanager
def following(
    wanted: str, each: Each, time_limit: float, machine: Machine | None = None
) -> Generator[Beside]:
    """Read a monitor while the block runs; give `each` all that a sample says, in a thread.

    Args:
        wanted: A name that `--telemetry` takes.
        each: Is given the monitor's name and its sample; what it raises ends the reading.
        time_limit: Seconds that the block may last.
        machine: What decides which monitors can be read; this machine by default.
    """
    monitor, remark = choose(wanted, machine or Machine(), time_limit)
    reading = Beside(monitor, each)
    reading.remark(remark)
    if monitor is None:
        yield reading
        return
    with _polled(monitor, reading) if isinstance(monitor, Poll) else _streamed(monitor, reading):
        yield reading


@contextmanager
def _polled(monitor: Poll, reading: Beside) -> Generator[None]:
    """Look every half second, in a thread."""
    over = threading.Event()

    def run() -> None:
        due = time.monotonic()
        while not over.wait(due - time.monotonic()):
            try:
                reading.take(monitor.name, monitor.look())
            except (TracekitError, OSError) as error:
                reading.remark(f"{monitor.name}: {error}")
                return
            due = max(due + PERIOD, time.monotonic())

    thread = threading.Thread(target=run, name="telemetry", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _streamed(monitor: Stream, reading: Beside) -> Generator[None]:
    """Read what a program prints, in a thread.

    If tracekit is killed, the program meets a closed pipe at its next sample, which ends it.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            child = start_child(
                monitor.command, _STOP, env=os.environ, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            reading.remark(f"{monitor.name} cannot be started: {error.strerror}.")
            yield
            return
        assert child.process.stdout is not None
        thread = threading.Thread(
            target=_read, args=(monitor, child.process.stdout, reading), daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            status = child.exit_status
            if status is not None or reading.readings == 0:
                reading.remark(_ending(monitor.name, status, errors))
            child.stop()
            thread.join(_GRACE)


def _ending(name: str, status: int | None, errors: IO[bytes]) -> str:
    if status is None:
        return f"{name} printed no sample that could be read."
    errors.seek(0)
    words = errors.read()[-_LAST_WORDS:].decode(errors="replace").strip()
    said = f" Its last words: {words}" if words else ""
    return f"{name} ended by itself, with exit code {status}, while it was read.{said}"


def _read(monitor: Stream, printed: IO[bytes], reading: Beside) -> None:
    rest = b""
    with printed as pipe:
        while chunk := os.read(pipe.fileno(), 1 << 16):
            *samples, rest = (rest + chunk).split(monitor.end)
            if len(rest) > _LONGEST:
                reading.remark(f"{monitor.name} prints no end of a sample.")
                return
            try:
                for sample in samples:
                    reading.take(monitor.name, monitor.read(sample + monitor.end))
            except TracekitError as error:
                reading.remark(f"{monitor.name}: {error}")
                return
