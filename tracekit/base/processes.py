"""Processes: identified by number and start; our children: started, signalled, stopped."""

import logging
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

import psutil

from tracekit.base.programs import find_program
from tracekit.base.system import HANG_UPS, SIGKILL, kill_all

log = logging.getLogger(__name__)

_POLL = 0.05
_KILLED = 5.0  # seconds: a process that the kernel blocks may not even end then
_QUOTED = 2000


def start_of(pid: int) -> int:
    """Return a value that no other process with the same number, before or after, has.

    psutil makes it of the number and the time from boot to its start, which no clock changes.
    Raise psutil.NoSuchProcess if there is none.
    """
    return hash(psutil.Process(pid))


def find_process(pid: int, start: int) -> psutil.Process | None:
    """Return this very process, running or ended but not reaped; None once it is gone."""
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None
    if hash(process) != start:
        return None
    return process


def find_reported_process(pid: int, start: int = 0) -> tuple[psutil.Process, ...]:
    """Return the process that a report names; none once it is gone.

    `start` is that of `start_of`, or 0 if the report lacks it. Then the process must not be older
    than this one, which began before everything that it recorded, so that a process that existed
    before is safe.
    """
    if pid <= 0:
        return ()
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if _is_reported(process, start):
            return (process,)
    return ()


def _is_reported(process: psutil.Process, start: int) -> bool:
    if start:
        return hash(process) == start
    return process.create_time() >= psutil.Process().create_time()


def runs(process: psutil.Process) -> bool:
    """Tell whether a process has not ended; a zombie has."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:  # of another user
        return True
    except psutil.Error:
        return False


@dataclass(frozen=True)
class StopPolicy:
    """How a process is stopped."""

    # the stop signals in order, and the seconds to wait after each; signal 0 is only a wait.
    # SIGKILL always goes to the whole process group
    signals: tuple[tuple[int, float], ...] = ((SIGKILL, 5.0),)
    group: bool = False  # the other signals go to the whole group too, not to the process alone
    # its standard input is our pipe, which is closed before all signals
    lifeline: bool = False
    # files and folders; if tracekit is gone, the wait begins again while they grow
    grows: tuple[str, ...] = ()

    def send(self, pid: int, number: int) -> None:
        """Send a signal to a process that began a group, or to that group."""
        to_group = self.group or number == SIGKILL
        send_signal(pid, number, group=to_group)

    def escalate(
        self, send: Callable[[int], None], wait_for_end: Callable[[float], bool]
    ) -> signal.Signals | int | None:
        """Send one signal after the other until the process has ended.

        `send` sends a signal, `wait_for_end` waits for so many seconds and tells whether it has
        ended. Return the signal after which it ended; None if none helped.
        """
        for number, seconds in self.signals:
            send(number)
            if wait_for_end(seconds):
                return number
        return None


def send_signal(pid: int, number: int, *, group: bool = False) -> None:
    """Signal a process, or the group that it began; one that is gone or not ours is left alone."""
    with suppress(ProcessLookupError, PermissionError):
        kill_all(pid, number) if group else os.kill(pid, number)


def kill_group(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill a process that began a group (`start_new_session`), and all that is in its group."""
    send_signal(process.pid, SIGKILL, group=True)
    process.kill()


def _no_action(_pid: int) -> None:
    pass


@dataclass
class Child:
    """A process that we started, in a session of its own: all that is in its group is ours."""

    process: subprocess.Popen[bytes]
    policy: StopPolicy
    forget: Callable[[int], None] = _no_action  # called with its number once it has ended
    killed: bool = False  # it had to be killed
    # Ctrl-C came while it was being stopped, so that it was killed at once
    interrupted: bool = False
    # the processes that it was seen to start, in sessions of their own too
    descendants: set[psutil.Process] = field(default_factory=set[psutil.Process])
    started: int = 0  # the moment of the monotonic clock, in ns, at which the program was let begin

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
        """Note the processes that it has started; after its end their origin cannot be known."""
        with suppress(psutil.Error):
            children = psutil.Process(self.pid).children(recursive=True)
            self.descendants |= set(children)

    def stop(self, policy: StopPolicy | None = None) -> bool:
        """Stop it by its policy, or another one; return whether it ended before it was killed.

        KeyboardInterrupt during the wait kills it at once.
        """
        policy = policy or self.policy
        if self.process.poll() is not None:
            return True
        try:
            if policy.lifeline and self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()
            last_signal = policy.escalate(self.send, self.wait)
            self.killed = last_signal in {None, SIGKILL}
        except KeyboardInterrupt:
            self.interrupted = True
            self.killed = True
        if self.killed:
            self.kill()
        return not self.killed

    def kill(self) -> None:
        """Kill it and all that is in its group, and wait a little for its end."""
        kill_group(self.process)
        self.wait(_KILLED)

    def clean_up(self, grace: float = 5.0) -> None:
        """Kill it and the rest of its group, then end the noted descendants."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        end_leftovers(self.descendants, grace)
        self.forget(self.pid)


_LAST_DIGIT = 9  # some shells take numbers of one digit alone
_LINKER = re.compile(r"DYLD_\w+")


def _gate(env: Mapping[str, str], descriptor: int) -> tuple[str, ...]:
    """Return a command that waits for a line, which never comes once tracekit is gone, then execs.

    It reads the line from `descriptor`, so that standard input is the program's alone. Variables of
    the dynamic linker are exported again: a system may remove them for its own shell.
    """
    source = f"/dev/fd/{descriptor}"
    program = 'exec "$@"'
    if descriptor <= _LAST_DIGIT:
        source = f"&{descriptor}"
        program += f" {descriptor}<&-"
    lines = [f"read -r _ <{source} || exit"]
    for name in env:
        if _LINKER.fullmatch(name):
            value = shlex.quote(env[name])
            lines.append(f"export {name}={value}")
    lines.append(program)
    return ("/bin/sh", "-c", "; ".join(lines), "sh")


def start_child(
    argv: Sequence[str],
    policy: StopPolicy,
    *,
    env: Mapping[str, str],
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    stdin: int = subprocess.DEVNULL,
    cwd: Path | None = None,
    announce: Callable[[Child], None] | None = None,
) -> Child:
    """Start a program in a session of its own.

    Its standard input ends with this process if its policy has a lifeline; else it is `stdin`, a
    descriptor, which is empty by default.
    `announce` is called with the child before the program begins; if tracekit is killed in it, the
    program never begins.
    Raise OSError if it cannot be started; ProgramError if there is no such program.
    """
    child = None
    find_program(argv[0], env.get("PATH"), cwd)
    read_end, write_end = os.pipe()
    gate: tuple[str, ...] = ()
    passed_descriptors: tuple[int, ...] = ()
    if announce:
        gate = _gate(env, read_end)
        passed_descriptors = (read_end,)
    if policy.lifeline:
        stdin = subprocess.PIPE
    try:
        with shield_signals():  # a signal within Popen would leave an unknown process behind
            process = subprocess.Popen(
                (*gate, *argv),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd=cwd,
                start_new_session=True,
                pass_fds=passed_descriptors,
            )
            child = Child(process, policy)
            if announce:
                announce(child)
            child.started = time.monotonic_ns()
            os.write(write_end, b"\n")
    except BaseException:
        if child is not None:
            child.clean_up()
        raise
    finally:
        os.close(read_end)
        os.close(write_end)
    return child


def run(
    argv: Sequence[str],
    seconds: float,
    *,
    env: Mapping[str, str],
    start: Callable[..., Child] = start_child,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, without input; `start` starts it, as `start_child` does.

    Raises:
        OSError: It cannot be started.
        subprocess.TimeoutExpired: It took longer; then it was ended, and all that it started.
    """
    pipe = subprocess.PIPE
    child = start(argv, StopPolicy(group=True), env=env, stdout=pipe, stderr=pipe)
    try:
        stdout, stderr = child.process.communicate(timeout=seconds)
    finally:
        child.clean_up()
    stdout_text = stdout.decode("utf-8", "replace")
    stderr_text = stderr.decode("utf-8", "replace")
    return subprocess.CompletedProcess(argv, child.process.returncode, stdout_text, stderr_text)


def end_leftovers(processes: Iterable[psutil.Process], grace: float = 5.0) -> tuple[int, ...]:
    """End those of the processes that still run, and return their numbers.

    Whether xctrace ends a launched program when it is asked to stop is not established, and a
    killed recorder surely does not. They are asked first, and killed after `grace` seconds. A
    later process with the number of one of them is not touched.
    """
    running = [process for process in set(processes) if runs(process)]
    for process in running:
        log.info("ending %d, which the recording left running", process.pid)
    survivors = running
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for process in survivors:
            with suppress(psutil.Error):
                end(process)
        survivors = _still_running(survivors, grace)
    return tuple(sorted(process.pid for process in running))


def _still_running(processes: list[psutil.Process], grace: float) -> list[psutil.Process]:
    """Return those that have not ended after `grace` seconds."""
    deadline = time.monotonic() + grace
    while True:
        survivors = [process for process in processes if runs(process)]
        if not survivors or time.monotonic() >= deadline:
            return survivors
        time.sleep(_POLL)


def exit_words(status: int | None) -> str:
    """Return the end of a process in words: "exit code 2", "signal SIGTRAP"."""
    if status is None:
        return "no exit code"
    number = -status
    if status >= 0:
        number = status - 128  # a shell's exit code for a signal
    if status < 0 or number in set(signal.Signals):
        try:
            return f"signal {signal.Signals(number).name}"
        except ValueError:
            return f"signal {number}"
    return f"exit code {status}"


def last_words(file: Path, since: int = 0) -> str:
    """Return the last text that a process wrote to a file, from the byte `since` on."""
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(since, size - _QUOTED))
        return opened.read().decode(errors="replace").strip()
    return ""


@contextmanager
def shield_signals() -> Generator[None]:
    """Defer signals until the context ends, so that no unknown process is started.

    The first of them is handled then.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not come there
        yield
        return
    deferred: list[tuple[int, FrameType | None]] = []

    def keep(number: int, frame: FrameType | None) -> None:
        deferred.append((number, frame))

    handlers: dict[signal.Signals, Callable[[int, FrameType | None], object]] = {}
    for name in (signal.SIGINT, signal.SIGTERM, *HANG_UPS):
        current_handler = signal.getsignal(name)
        if callable(current_handler):
            handlers[name] = current_handler
    for name in handlers:
        signal.signal(name, keep)
    try:
        yield
    finally:
        for name, handler in handlers.items():
            signal.signal(name, handler)
        if deferred:
            number, frame = deferred[0]
            handlers[signal.Signals(number)](number, frame)
