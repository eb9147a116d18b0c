"""How xctrace is started, in which environment, and how its failures become our errors."""

import logging
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import ProgramError, ToolError, exit_words, start_child
from tracekit.base import run as run_to_its_end
from tracekit.record.supervisor import Supervisor

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KnownFailure:
    """A failure that people have met before; `problems.toml` says what each field is."""

    meaning: str
    hint: str
    code: int | None = None
    pattern: str = ""
    passing: bool = False

    def fits(self, code: int, text: str) -> bool:
        """Tell whether a command that ended with `code` and said `text` has this problem."""
        return self.code in {None, code} and bool(re.search(self.pattern, text, re.IGNORECASE))


PROBLEMS = {
    name: KnownFailure(**fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_name("problems.toml").read_text(encoding="utf-8")
    ).items()
}
NO_DOCUMENT = PROBLEMS["no_document"]
UNSUPPORTED_COUNTERS = PROBLEMS["unsupported_counters"]
NO_COUNTERS = UNSUPPORTED_COUNTERS.meaning.removesuffix(".")
WAYS_TO_COUNTERS = UNSUPPORTED_COUNTERS.hint
SELECT_XCODE = PROBLEMS["no_xcode"].hint


def recognize(code: int, text: str) -> KnownFailure | None:
    """Return the known problem that a failed command had, or None."""
    return next((problem for problem in PROBLEMS.values() if problem.fits(code, text)), None)


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
    return own_environment({}, environment) | _LOCALE


def own_environment(
    requested_variables: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return what a program that tracekit itself starts, to attach to it, is to see."""
    all_variables = {**environment, **requested_variables}
    return {name: value for name, value in all_variables.items() if not distorts(name)}


def target_environment(
    requested_variables: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables that a launched program needs, because it may inherit nothing.

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
        for name, value in sorted((needed | dict(requested_variables)).items())
        if value and not distorts(name)
    }


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


def run(argv: tuple[str, ...], timeout: float, supervisor: Supervisor | None = None) -> Completed:
    """Run a command to its end, in English, with nothing to read, and return what it said.

    With a supervisor it does not outlive tracekit, even if that is killed. Raise ToolError where
    it cannot be started, or did not end within `timeout` seconds.
    """
    log.debug("run %s", shlex.join(argv))
    start = start_child if supervisor is None else supervisor.start
    try:
        finished_process = run_to_its_end(argv, timeout, env=tool_environment(), start=start)
    except OSError as error:
        raise not_started(argv, error) from error
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
    """Say in words why a command failed: its line, its own text and, where known, the way out."""
    problem = recognize(completed.returncode, completed.text) or KnownFailure("", "")
    output_tail = "\n".join(completed.text.splitlines()[-_QUOTED_LINES:]) or "It said nothing."
    line = f"{shlex.join(completed.argv)} failed with {exit_words(completed.returncode)}"
    meaning = f"{problem.meaning} " if problem.meaning else ""
    return ToolError(f"{meaning}{line}:\n{output_tail}", hint=problem.hint)


def not_started(argv: tuple[str, ...], error: OSError) -> ToolError:
    """Say that a command could not be started at all."""
    hint = error.hint if isinstance(error, ProgramError) else ""
    if argv[0].rpartition("/")[2] in {"xcrun", "xctrace"}:
        hint = (
            "It comes with Xcode and runs on macOS only; `--recorder host` measures on any machine."
        )
    return ToolError(f"{argv[0]} cannot be started: {error.strerror}.", hint=hint)
