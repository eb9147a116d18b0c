"""The start of xctrace, its environment, and the errors that its failures become."""

import logging
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import ToolError, processes
from tracekit.record.beliefs import choose_truth, list_codes
from tracekit.record.recorder import start_error
from tracekit.record.supervisor import Supervisor

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KnownFailure:
    """A failure that people have met before; `problems.toml` describes the fields."""

    meaning: str
    hint: str
    belief: str = ""
    pattern: str = ""
    passing: bool = False

    def fits(self, code: int, text: str) -> bool:
        """Return whether a command that ended with `code` and printed `text` has this problem."""
        if self.belief and code not in list_codes(self.belief):
            return False
        return re.search(self.pattern, text, re.IGNORECASE) is not None


def _read_problems() -> dict[str, KnownFailure]:
    text = Path(__file__).with_name("problems.toml").read_text(encoding="utf-8")
    return {name: KnownFailure(**fields) for name, fields in tomllib.loads(text).items()}


PROBLEMS = _read_problems()
NO_DOCUMENT = PROBLEMS["no_document"]
NO_PROCESS = PROBLEMS["no_process"]
UNSUPPORTED_COUNTERS = PROBLEMS["unsupported_counters"]
NO_COUNTERS = UNSUPPORTED_COUNTERS.meaning.removesuffix(".")
WAYS_TO_COUNTERS = UNSUPPORTED_COUNTERS.hint
SELECT_XCODE = PROBLEMS["no_xcode"].hint


def recognize(code: int, text: str) -> KnownFailure | None:
    """Return the known problem that a failed command had, or None."""
    for problem in PROBLEMS.values():
        if problem.fits(code, text):
            return problem
    return None


# Validation, HUD and capture change the measurement; none of them is needed to record.
_DISTORTING = ("MTL_", "MTLCAPTURE_", "METAL_DEVICE_WRAPPER_TYPE")
_NEEDED = ("HOME", "PATH", "TMPDIR", "USER")
_NEEDED_PREFIXES = ("MLX_", "PYTHON")
_LOCALE = {"LANG": "en_US.UTF-8", "LC_ALL": "en_US.UTF-8"}


def distorts(name: str) -> bool:
    """Return whether a variable changes how Metal runs, and thereby the trace."""
    return name.startswith(_DISTORTING)


def tool_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return `environment` for xctrace itself: in English, without variables that distort Metal."""
    return own_environment({}, environment) | _LOCALE


def own_environment(
    requested_variables: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of a program that tracekit itself starts, to attach to it."""
    all_variables = {**environment, **requested_variables}
    return {name: value for name, value in all_variables.items() if not distorts(name)}


def target_environment(
    requested_variables: Mapping[str, str],
    environment: Mapping[str, str] = os.environ,
    xcode: str = "",
) -> dict[str, str]:
    """Return the variables that a launched program needs, because it may inherit nothing.

    Whether xctrace hands its own environment on is reported both ways, so the few variables
    that a program cannot do without are named one by one, unless machines with this Xcode, by its
    build, answered that it does. Empty values and variables that distort Metal are left out.
    """
    variables: dict[str, str] = {}
    if not choose_truth("environment-inherited", xcode):
        variables = {name: value for name, value in environment.items() if _is_needed(name)}
    variables.update(requested_variables)
    return {
        name: value for name, value in sorted(variables.items()) if value and not distorts(name)
    }


def _is_needed(name: str) -> bool:
    return name in _NEEDED or name.startswith(_NEEDED_PREFIXES)


_QUOTED_LINES = 12


@dataclass(frozen=True)
class Completed:
    """A command that ended, with its exit code and its output.

    A negative `returncode` is the number of the signal that ended it.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str = ""
    stderr: str = ""

    @property
    def text(self) -> str:
        """All of its output; standard error first."""
        parts = (self.stderr.strip(), self.stdout.strip())
        return "\n".join(filter(None, parts))


# Run a command line for at most so many seconds. Tests put another function in its place.
Run = Callable[[tuple[str, ...], float], Completed]


def run(argv: tuple[str, ...], timeout: float, supervisor: Supervisor | None = None) -> Completed:
    """Run a command to its end, in English, without input, and return its output.

    With a supervisor it does not outlive tracekit, even if that is killed. Raise ToolError if it
    cannot be started, or did not end within `timeout` seconds.
    """
    log.debug("run %s", shlex.join(argv))
    start = processes.start_child if supervisor is None else supervisor.start
    try:
        finished_process = processes.run(argv, timeout, env=tool_environment(), start=start)
    except OSError as error:
        raise start_error(argv, error) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{shlex.join(argv)} did not end within {timeout:g} s and was stopped.",
            hint="Run the same line by hand: it may wait for a password or an answer.",
        ) from error
    return Completed(
        argv, finished_process.returncode, finished_process.stdout, finished_process.stderr
    )


def check(completed: Completed) -> Completed:
    """Return a command that ended well; raise ToolError for one that did not."""
    if completed.returncode != 0:
        raise failure(completed)
    return completed


def failure(completed: Completed) -> ToolError:
    """Return the error of a failed command: its line, its own text and, if known, the remedy."""
    output_tail = "\n".join(completed.text.splitlines()[-_QUOTED_LINES:]) or "It said nothing."
    line = f"{shlex.join(completed.argv)} failed with {processes.exit_words(completed.returncode)}"
    message = f"{line}:\n{output_tail}"
    problem = recognize(completed.returncode, completed.text)
    if problem is None:
        return ToolError(message)
    if problem.meaning:
        message = f"{problem.meaning} {message}"
    return ToolError(message, hint=problem.hint)
