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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from tracekit.base import TracekitError
from tracekit.machine.machine import Machine
from tracekit.machine.monitors import PERIOD, Choice, Poll, Stream, Taken, choose

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
_LAST_WORDS = 300

Each = Callable[[str, Taken], None]


class Beside:
    """The monitor and what it gave: `remarks` is complete when the recording is over."""

    def __init__(self, choice: Choice, each: Each) -> None:
        self.monitor = choice.monitor
        self.readings = 0
        self._remarks = dict.fromkeys(choice.remarks)
        self._each = each

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user must know of the monitor."""
        return tuple(self._remarks)

    def remark(self, *texts: str) -> None:
        """Add remarks, each one once, and not too many."""
        for text in texts:
            if len(self._remarks) < _ENOUGH:
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
        wanted: One of `tracekit.machine.monitors.MONITORS`.
        each: Is given the monitor's name and its sample; what it raises ends the reading.
        time_limit: Seconds that the block may last.
        machine: What decides which monitors can be read; this machine by default.
    """
    reading = Beside(choose(wanted, machine or Machine(), time_limit), each)
    monitor = reading.monitor
    if monitor is None:
        yield reading
        return
    reader = _Polled(monitor, reading) if isinstance(monitor, Poll) else _Streamed(monitor, reading)
    reader.start()
    try:
        yield reading
    finally:
        reader.stop()


class _Polled:
    """A thread that looks every half second."""

    def __init__(self, monitor: Poll, reading: Beside) -> None:
        self._monitor = monitor
        self._reading = reading
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            try:
                self._reading.take(self._monitor.name, self._monitor.look())
            except (TracekitError, OSError) as error:
                self._reading.remark(f"{self._monitor.name}: {error}")
                return
            due = max(due + PERIOD, time.monotonic())
            if self._over.wait(due - time.monotonic()):
                return


class _Streamed:
    """A program in a session of its own, and a thread that reads what it prints.

    If tracekit is killed, the program meets a closed pipe at its next sample, which ends it.
    """

    def __init__(self, monitor: Stream, reading: Beside) -> None:
        self._monitor = monitor
        self._reading = reading
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop

    def start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._monitor.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
            )
        except OSError as error:
            self._reading.remark(f"{self._monitor.name} cannot be started: {error.strerror}.")
            return
        self._thread.start()

    def stop(self) -> None:
        if self._process is not None:
            self._end(self._process)
            self._thread.join(_GRACE)
        self._complaints.close()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        code = process.poll()
        if code is not None or self._reading.readings == 0:
            self._reading.remark(*self._ending(code))
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
                break

    def _ending(self, code: int | None) -> tuple[str, ...]:
        name = self._monitor.name
        if code is None:
            return (f"{name} printed no sample that could be read.",)
        self._complaints.seek(0)
        words = self._complaints.read()[-_LAST_WORDS:].decode(errors="replace").strip()
        said = f" Its last words: {words}" if words else ""
        return (f"{name} ended by itself, with exit code {code}, while it was read.{said}",)

    def _run(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        rest, end = b"", self._monitor.end
        with self._process.stdout as pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                *samples, rest = (rest + chunk).split(end)
                if len(rest) > _LONGEST:
                    self._reading.remark(f"{self._monitor.name} prints no end of a sample.")
                    return
                try:
                    for sample in samples:
                        self._reading.take(self._monitor.name, self._monitor.read(sample + end))
                except TracekitError as error:
                    self._reading.remark(f"{self._monitor.name}: {error}")
                    return
