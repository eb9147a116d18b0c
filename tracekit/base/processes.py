"""Processes: which one a number means, and children of ours: started, signalled, stopped.

A later process of the same number began later, in ticks of the clock that counts from boot. A time
of day cannot show that: Linux knows the time of boot in whole seconds only, so that a process may
seem to have begun up to a second too early, and all such times move when somebody sets the clock.
"""

import errno
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

import psutil

log = logging.getLogger(__name__)

_POLL = 0.05
_KILLED = 5.0  # seconds: what the kernel holds on to may not even end then
_QUOTED = 2000
_STARTTIME = 19  # field 22 of proc_pid_stat(5), counted from the state, which follows the name


def start_of(pid: int) -> int:
    """Return what tells a process from every other one that had or will have its number.

    Raises:
        psutil.NoSuchProcess: There is none.
    """
    if sys.platform != "linux":
        return hash(psutil.Process(pid))  # of its number and the kernel's own time of its start
    try:
        return start_ticks(Path(f"/proc/{pid}/stat").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None


def start_ticks(stat: bytes) -> int:
    """Return the clock ticks from boot to the start of a process, of its `/proc/PID/stat`."""
    return int(stat.rpartition(b")")[2].split()[_STARTTIME])  # a name may hold blanks and brackets


def found(pid: int, start: int) -> psutil.Process | None:
    """Return the very process, ended but not reaped or running; None once it is gone."""
    try:
        process = psutil.Process(pid)
        return process if start_of(pid) == start else None
    except psutil.Error:
        return None


def no_older(pid: int, than: int) -> psutil.Process | None:
    """Return the process of a number unless it is gone, or began before another one did."""
    try:
        process, other = psutil.Process(pid), psutil.Process(than)
        return process if _begin(process) >= _begin(other) else None
    except psutil.Error:
        return None


def reported(pid: int, start: int = 0) -> tuple[psutil.Process, ...]:
    """Return the process that something said it is; none where that one is gone.

    Args:
        pid: Its number.
        start: What tells it from others of its number, as `start_of` says; 0 where nobody said so.
            Then it must be no older than this process, which began before all that it recorded, so
            that a process that was there before is safe.
    """
    if pid <= 0:
        return ()
    process = found(pid, start) if start else no_older(pid, os.getpid())
    return () if process is None else (process,)


def runs(process: psutil.Process) -> bool:
    """Tell whether a process has not ended; one that nobody has reaped yet has."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:  # of another user
        return True
    except psutil.Error:
        return False


def _begin(process: psutil.Process) -> float:
    """Return a number that is greater for a process that began later."""
    return start_of(process.pid) if sys.platform == "linux" else process.create_time()


@dataclass(frozen=True)
class StopPolicy:
    """How a process is stopped.

    Attributes:
        signals: The stop signals in order, and the seconds to wait after each; signal 0 is only a
            wait. SIGKILL always goes to the whole process group.
        group: The other signals go to the whole group too, not to the process alone.
        lifeline: Its standard input is a pipe from us: closing it comes before all signals.
        grows: Files and folders; if tracekit is gone, the wait begins again while they grow.
    """

    signals: tuple[tuple[int, float], ...] = ((signal.SIGKILL, 5.0),)
    group: bool = False
    lifeline: bool = False
    grows: tuple[str, ...] = ()

    def send(self, pid: int, number: int) -> None:
        """Send a signal to a process that began a group, or to that group."""
        send_signal(pid, number, group=self.group or number == signal.SIGKILL)

    def escalate(
        self, send: Callable[[int], None], ended: Callable[[float], bool]
    ) -> signal.Signals | int | None:
        """Send one signal after the other until the process has ended.

        `send` sends a signal, `ended` waits for so many seconds and says whether it has ended.
        Returned is the signal after which it ended; None if none helped.
        """
        for number, seconds in self.signals:
            send(number)
            if ended(seconds):
                return number
        return None


def send_signal(pid: int, number: int, *, group: bool = False) -> None:
    """Signal a process, or the group that it began; one that is gone or not ours is left alone."""
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, number)


def kill_group(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill a process that began a group (`start_new_session`), and all that is in its group."""
    send_signal(process.pid, signal.SIGKILL, group=True)
    process.kill()


def _no_action(_pid: int) -> None:
    pass


@dataclass
class Child:
    """A process that we started, in a session of its own: all that is in its group is ours.

    Attributes:
        process: The process.
        policy: How it is stopped.
        forget: Called with its number once it has ended.
        killed: It had to be killed.
        interrupted: Ctrl-C came while it was being stopped, so that it was killed at once.
        descendants: What it was seen to have started, in sessions of their own too.
    """

    process: subprocess.Popen[bytes]
    policy: StopPolicy
    forget: Callable[[int], None] = _no_action
    killed: bool = False
    interrupted: bool = False
    descendants: set[psutil.Process] = field(default_factory=set[psutil.Process])

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self.process.poll()

    def send(self, number: int) -> None:
        """Send it a signal as its policy says, unless it has ended."""
        if self.process.poll() is None:
            self.policy.send(self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end for so many seconds; return whether it came."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
            return True
        return False

    def note_descendants(self) -> None:
        """Note what it has started; once it has ended nobody can say whose that was."""
        with suppress(psutil.Error):
            self.descendants |= set(psutil.Process(self.pid).children(recursive=True))

    def stop(self, policy: StopPolicy | None = None) -> bool:
        """Stop it by its policy, or another one; return whether it ended before it was killed.

        KeyboardInterrupt while it waits means that somebody has had enough: it kills.
        """
        policy = policy or self.policy
        if self.process.poll() is not None:
            return True
        try:
            if policy.lifeline and self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()
            last = policy.escalate(self.send, self.wait)
            self.killed = last in {None, signal.SIGKILL}
        except KeyboardInterrupt:
            self.interrupted = self.killed = True
        if self.killed:
            self.kill()
        return not self.killed

    def kill(self) -> None:
        """Kill it and all that is in its group, and wait a little for its end."""
        kill_group(self.process)
        self.wait(_KILLED)

    def clean_up(self, grace: float = 5.0) -> None:
        """Kill it and what is left in its group, then end the descendants that were noted."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        end_leftovers(self.descendants, grace)
        self.forget(self.pid)


Output = int | IO[bytes]

# Waits for a line, which nobody sends once tracekit is gone, and becomes the program.
_GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@"', "sh")
_GATE_WITHOUT_INPUT = ("/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh")


def start_child(
    argv: Sequence[str],
    policy: StopPolicy,
    *,
    env: Mapping[str, str],
    stdout: Output,
    stderr: Output,
    cwd: Path | None = None,
    announce: Callable[[Child], None] | None = None,
) -> Child:
    """Start a program in a session of its own.

    Its standard input ends with us if its policy has a lifeline; else it is empty. `announce` is
    called with the child before the program begins; if tracekit is killed in it, none begins.

    Raises:
        OSError: It cannot be started.
    """
    child = None
    _require_program(argv[0], env, cwd)
    gate = _GATE if policy.lifeline else _GATE_WITHOUT_INPUT
    try:
        with shield_signals():  # within Popen one would leave a process that nobody knows of
            process = subprocess.Popen(
                (*gate, *argv) if announce else argv,
                stdin=subprocess.PIPE if policy.lifeline or announce else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
            child = Child(process, policy)
            if announce:
                announce(child)
                assert process.stdin is not None
                process.stdin.write(b"\n")
                process.stdin.flush()
                if not policy.lifeline:
                    process.stdin.close()
                    process.stdin = None
    except BaseException:
        if child is not None:
            child.clean_up()
        raise
    return child


def _require_program(name: str, env: Mapping[str, str], cwd: Path | None) -> None:
    path = str(Path(cwd or "", name)) if "/" in name else name
    if shutil.which(path, path=env.get("PATH")) is None:
        number = errno.EACCES if Path(path).exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), name)


def end_leftovers(processes: Iterable[psutil.Process], grace: float = 5.0) -> tuple[int, ...]:
    """End those of the processes that still run, and return their numbers.

    Whether xctrace ends a launched program when it is asked to stop is not established, and a
    killed recorder surely does not. They are asked first, and killed after `grace` seconds. A
    process that was given the number of one of them meanwhile is not touched.
    """
    running = [process for process in set(processes) if runs(process)]
    for process in running:
        log.info("ending %d, which the recording left running", process.pid)
    left = running
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            with suppress(psutil.Error):
                end(process)
        left = _still_running(left, grace)
    return tuple(sorted(process.pid for process in running))


def _still_running(processes: list[psutil.Process], grace: float) -> list[psutil.Process]:
    """Return those that have not ended after `grace` seconds."""
    deadline = time.monotonic() + grace
    while left := [process for process in processes if runs(process)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL)
    return left


def exit_words(status: int | None) -> str:
    """Say how a process ended: "exit code 2", "signal SIGTRAP"."""
    if status is None:
        return "no exit code"
    number = -status if status < 0 else status - 128  # a shell's word for a signal
    if status < 0 or number in set(signal.Signals):
        try:
            return f"signal {signal.Signals(number).name}"
        except ValueError:
            return f"signal {number}"
    return f"exit code {status}"


def last_words(file: Path, since: int = 0) -> str:
    """Return the end of what a process wrote to a file, from the byte `since`; as text."""
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(since, size - _QUOTED))
        return opened.read().decode(errors="replace").strip()
    return ""


@contextmanager
def shield_signals() -> Generator[None]:
    """Put signals off until the context ends, so that no process starts that nobody knows of.

    The first of them is served then.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not come there
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def keep(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {name: now for name in asking if callable(now := signal.getsignal(name))}
    for name in before:
        signal.signal(name, keep)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
        for number, frame in came[:1]:
            before[signal.Signals(number)](number, frame)
