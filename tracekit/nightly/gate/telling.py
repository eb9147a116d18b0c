"""Somebody is told of a regression: a command of the user's own, with the facts."""

import os
import shlex
import subprocess
import sys

import msgspec

from tracekit.base.errors import UsageError
from tracekit.base.processes import sweep
from tracekit.nightly.gate.report.model import GateReport
from tracekit.nightly.gate.report.words import said

PATIENCE = 60.0
"""Seconds after which the command is ended: a gate must not hang on a mail server."""
_PREFIX = "TRACEKIT_"


def command_of(text: str) -> tuple[str, ...]:
    """Part a command into its words, as a shell would; no shell runs it.

    Raises:
        UsageError: It is empty, or its quotes are not closed.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"--on-regression cannot be read: {error}.", hint="Close the quotes."
        ) from error
    if not words:
        raise UsageError("--on-regression names no command.", hint="Name a program.")
    return tuple(words)


def tell(command: tuple[str, ...], report: GateReport, patience: float = PATIENCE) -> str:
    """Run a command with the report as JSON on its standard input; return what went wrong.

    Its environment has the facts as `TRACEKIT_OUTCOME`, `TRACEKIT_SUBJECT`, `TRACEKIT_REASON` and
    the like. What it prints goes to standard error. Whatever becomes of it, and of what it
    started, the verdict stays.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno(),
            env=os.environ | facts(report),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"{command[0]} could not be run: {why}."
    try:
        process.communicate(msgspec.json.encode(report), timeout=patience)
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {patience:g} s, and was ended."
    finally:
        _end(process)
    return f"{command[0]} ended with {process.returncode}." if process.returncode else ""


def facts(report: GateReport) -> dict[str, str]:
    """Return what a command finds in its environment; each fits into one line."""
    known = {
        "OUTCOME": str(report.outcome),
        "TITLE": report.title,
        "SUBJECT": report.subject,
        "REASON": report.reason,
        "PLAN": report.plan,
        "MACHINE": report.machine,
        "COMMIT": report.commit,
        "STARTED": report.started,
        "WORSE": ", ".join(
            f"{one.suite}: {one.name}" for one in report.cases if one.outcome == "regression"
        ),
    }
    return {f"{_PREFIX}{name}": said(value) for name, value in known.items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, and all that it started."""
    if process.poll() is None:
        sweep(process)
        process.wait()
