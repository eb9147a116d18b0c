"""How xctrace is started, in which environment, and how its failures become our errors."""

import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracekit.base import ToolError
from tracekit.record.guardian.care import Care
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.xctrace.problems import Problem, recognize

# Validation, HUD and capture change what is measured; none of them is needed to record.
_DISTORTING = ("MTL_", "MTLCAPTURE_", "METAL_DEVICE_WRAPPER_TYPE")
_NEEDED = ("HOME", "PATH", "TMPDIR", "USER")
_NEEDED_PREFIXES = ("MLX_", "PYTHON")
_LOCALE = {"LANG": "en_US.UTF-8", "LC_ALL": "en_US.UTF-8"}


def distorts(name: str) -> bool:
    """Tell whether a variable changes how Metal runs, and so what a trace shows."""
    return name.startswith(_DISTORTING)


def tool_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return `environment` for xctrace itself: in English, without what distorts Metal."""
    kept = {name: value for name, value in environment.items() if not distorts(name)}
    return kept | _LOCALE


def own_environment(
    asked: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return what a program that tracekit itself starts, to attach to it, is to see."""
    together = {**environment, **asked}
    return {name: value for name, value in together.items() if not distorts(name)}


def target_environment(
    asked: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return what a launched program must be told, because it may inherit nothing.

    Whether xctrace hands its own environment on is reported both ways, so the few variables
    that a program cannot do without are named one by one. Empty values and whatever distorts
    Metal are left out.
    """
    needed = {
        name: value
        for name, value in environment.items()
        if name in _NEEDED or name.startswith(_NEEDED_PREFIXES)
    }
    return {
        name: value
        for name, value in sorted((needed | dict(asked)).items())
        if value and not distorts(name)
    }


log = logging.getLogger(__name__)

_QUOTED_LINES = 12


@dataclass(frozen=True)
class Completed:
    """A command that ended: what it was, how it ended, what it said.

    A negative `returncode` is the number of the signal that ended it.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str = ""
    stderr: str = ""

    @property
    def text(self) -> str:
        """All that it said; its complaints first."""
        return "\n".join(part for part in (self.stderr.strip(), self.stdout.strip()) if part)


# Run a command line for at most so many seconds. Tests put another function in its place.
Run = Callable[[tuple[str, ...], float], Completed]


def run(argv: tuple[str, ...], timeout: float) -> Completed:
    """Run a command to its end, in English, with nothing to read, and return what it said.

    Raises:
        ToolError: It is not there, cannot be started, or did not end within `timeout` seconds.
    """
    return _run(argv, timeout, _start)


def guarded(guardian: Guardian) -> Run:
    """Return a `run` whose commands do not outlive tracekit, even if it is killed."""

    def start(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
        pipe, care = subprocess.PIPE, Care(group=True)
        return guardian.start(argv, care, env=tool_environment(), stdout=pipe, stderr=pipe)

    def run_guarded(argv: tuple[str, ...], timeout: float) -> Completed:
        started: list[int] = []

        def noted(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
            process = start(argv)
            started.append(process.pid)
            return process

        try:
            return _run(argv, timeout, noted)
        finally:
            for pid in started:
                guardian.forget(pid)

    return run_guarded


def _start(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=tool_environment(),
        start_new_session=True,
    )


def _run(
    argv: tuple[str, ...],
    timeout: float,
    start: Callable[[tuple[str, ...]], subprocess.Popen[bytes]],
) -> Completed:
    log.debug("run %s", shlex.join(argv))
    try:
        process = start(argv)
    except OSError as error:
        raise not_started(argv, error) from error
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            end_group(process)
            raise ToolError(
                f"{shlex.join(argv)} did not end within {timeout:g} s and was stopped.",
                hint="Run the same line by hand: it may wait for a password or an answer.",
            ) from error
        except BaseException:
            end_group(process)
            process.wait()
            raise
    return Completed(argv, process.returncode, _text(stdout), _text(stderr))


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of ours and whatever it started in its own group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def check(completed: Completed) -> Completed:
    """Return a command that ended well; raise ToolError for one that did not."""
    if completed.returncode != 0:
        raise failure(completed)
    return completed


def failure(completed: Completed) -> ToolError:
    """Say in words why a command failed: its line, its own text and, where known, the way out."""
    problem = recognize(completed.returncode, completed.text) or Problem("", "")
    said = "\n".join(completed.text.splitlines()[-_QUOTED_LINES:]) or "It said nothing."
    line = f"{shlex.join(completed.argv)} failed with {ending(completed.returncode)}"
    meaning = f"{problem.meaning} " if problem.meaning else ""
    return ToolError(f"{meaning}{line}:\n{said}", hint=problem.hint)


def ending(returncode: int) -> str:
    """Say how a command ended: "exit code 2", "signal SIGTRAP"."""
    number = -returncode if returncode < 0 else returncode - 128
    if returncode < 0 or number in set(signal.Signals):
        try:
            return f"signal {signal.Signals(number).name}"
        except ValueError:
            return f"signal {number}"
    return f"exit code {returncode}"


def not_started(argv: tuple[str, ...], error: OSError) -> ToolError:
    """Say that a command could not be started at all."""
    hint = (
        "It comes with Xcode and runs on macOS only; `--recorder host` measures on any machine."
        if argv[0].rpartition("/")[2] in {"xcrun", "xctrace"}
        else ""
    )
    return ToolError(f"{argv[0]} cannot be started: {error.strerror}.", hint=hint)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
