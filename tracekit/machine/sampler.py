"""Read a monitor while other work goes on, and the memory of a process by kinds of regions.

Memory of the GPU is in the regions IOAccelerator and IOAccelerator (graphics). Sizes are in
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
from typing import IO

from tracekit.base import TracekitError, processes, system
from tracekit.machine.machine import Machine
from tracekit.machine.monitors import PERIOD, Monitor, Poll, SampleStream, choose
from tracekit.machine.sources import Taken

_VMMAP_SECONDS = 20.0
_SIZE = r"[\d.]+[BKMGTP]"
_FOOTPRINT = re.compile(rf"Physical footprint:\s+({_SIZE})")
_HEAD = re.compile(r"^\s+VIRTUAL\s+RESIDENT\s[^\n]*\nREGION TYPE\s", re.MULTILINE)
_OF_GPU = re.compile(rf"^IOAccelerator\b.*?\s{_SIZE}\s+({_SIZE})\s", re.MULTILINE)


def read_vmmap(pid: int, machine: Machine | None = None) -> dict[str, int | None]:
    """Return the memory of a process: all as `footprint`, and the GPU's as `accelerator`.

    A value is None if vmmap does not print it. It is not known whether vmmap pauses the process:
    never time it.
    """
    host = machine or Machine()
    text = host.text("/usr/bin/vmmap", "-summary", str(pid), seconds=_VMMAP_SECONDS)
    sizes: dict[str, int | None] = {"footprint": None, "accelerator": None}
    footprint = _FOOTPRINT.search(text)
    if footprint:
        sizes["footprint"] = _bytes(footprint[1])
    # the resident memory in the regions of the GPU, if the columns are known
    resident = _OF_GPU.findall(text)
    if resident and _HEAD.search(text):
        resident_sizes = [_bytes(size) for size in resident]
        sizes["accelerator"] = sum(resident_sizes)
    return sizes


def _bytes(text: str) -> int:
    number = float(text[:-1])
    exponent = 10 * "BKMGTP".index(text[-1])
    return round(number * (1 << exponent))


_ENOUGH = 8  # different remarks; more would not help
_LONGEST = 1 << 22  # bytes of one sample
_GRACE = 2.0  # seconds for a monitor to end
_STOP = processes.StopPolicy(((signal.SIGTERM, _GRACE), (system.SIGKILL, _GRACE)), group=True)
_LAST_WORDS = 300

Each = Callable[[str, Taken], None]


class Beside:
    """The monitor and its results: `remarks` is complete when the recording is over."""

    def __init__(self, monitor: Monitor | None, on_sample: Each) -> None:
        self.monitor = monitor
        self.readings = 0
        self._remarks: dict[str, None] = {}
        self._each = on_sample

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about the monitor for the user."""
        return tuple(self._remarks)

    def remark(self, *texts: str) -> None:
        """Add remarks, each one once, and not too many."""
        for text in texts:
            if text and len(self._remarks) < _ENOUGH:
                self._remarks[text] = None

    def take(self, source: str, monitor_sample: Taken) -> None:
        """Pass a sample on."""
        self.remark(*monitor_sample.remarks)
        self._each(source, monitor_sample)
        self.readings += len(monitor_sample.readings)


@contextmanager
def following(
    monitor_name: str, on_sample: Each, time_limit: float, machine: Machine | None = None
) -> Generator[Beside]:
    """Read a monitor while the block runs; call `on_sample` with each sample, in a thread.

    `monitor_name` is a name for `--telemetry`, `time_limit` the limit of the block in seconds. An
    exception from `on_sample` ends the reading.
    """
    monitor, remark = choose(monitor_name, machine or Machine(), time_limit)
    reading = Beside(monitor, on_sample)
    reading.remark(remark)
    if monitor is None:
        yield reading
    elif isinstance(monitor, Poll):
        with _poll_monitor(monitor, reading):
            yield reading
    else:
        with _stream_monitor(monitor, reading):
            yield reading


@contextmanager
def _poll_monitor(monitor: Poll, reading: Beside) -> Generator[None]:
    """Read the monitor every half second, in a thread."""
    stop_event = threading.Event()

    def run() -> None:
        due_time = time.monotonic()
        while not stop_event.wait(due_time - time.monotonic()):
            try:
                reading.take(monitor.name, monitor.look())
            except (TracekitError, OSError) as error:
                reading.remark(f"{monitor.name}: {error}")
                return
            due_time = max(due_time + PERIOD, time.monotonic())

    thread = threading.Thread(target=run, name="telemetry", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


@contextmanager
def _stream_monitor(monitor: SampleStream, reading: Beside) -> Generator[None]:
    """Read the output of a program, in a thread.

    If tracekit is killed, the program meets a closed pipe at its next sample, which ends it.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            child = processes.start_child(
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
    remark = f"{name} ended by itself, with exit code {status}, while it was read."
    errors.seek(0)
    last_output = errors.read()[-_LAST_WORDS:]
    words = last_output.decode(errors="replace").strip()
    if words:
        remark += f" Its last words: {words}"
    return remark


def _read(monitor: SampleStream, printed: IO[bytes], reading: Beside) -> None:
    remainder = b""
    with printed as pipe:
        while chunk := os.read(pipe.fileno(), 1 << 16):
            *samples, remainder = (remainder + chunk).split(monitor.end)
            if len(remainder) > _LONGEST:
                reading.remark(f"{monitor.name} prints no end of a sample.")
                return
            try:
                for sample in samples:
                    readings = monitor.read(sample + monitor.end)
                    reading.take(monitor.name, readings)
            except TracekitError as error:
                reading.remark(f"{monitor.name}: {error}")
                return
