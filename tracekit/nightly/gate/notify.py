"""Output of a gate's report: to files, and to a command of the user's own."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tracekit.base import (
    TracekitError,
    UsageError,
    distribution,
    files,
    own_version,
    processes,
    programs,
)
from tracekit.nightly.gate.report.comment import format_comment
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import GateReport
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import flatten_text, markdown
from tracekit.nightly.history.night import Outcome


def _openmetrics(report: GateReport) -> bytes:
    distribution.require_extra("nightly")
    from tracekit.nightly.gate.report.openmetrics import openmetrics  # noqa: PLC0415  of an extra

    return openmetrics(report)


WRITERS: dict[str, Callable[[GateReport], bytes]] = {
    "junit": junit,
    "sarif": lambda report: sarif(report, own_version()),
    "openmetrics": _openmetrics,
    "markdown": lambda report: markdown(report).encode(),
    "comment": lambda report: format_comment(report).encode(),
}


def write_reports(report: GateReport, report_files: Mapping[str, Path]) -> list[TracekitError]:
    """Write reports by name of `WRITERS`; return errors, so that none stops another report."""
    errors: list[TracekitError] = []
    for name, file in report_files.items():
        try:
            files.write_whole(file, WRITERS[name](report))
        except TracekitError as error:
            errors.append(error)
    return errors


def append_summary(report: GateReport, file: Path) -> str:
    """Add the report to the summary of a step of GitHub Actions; return an error, or nothing."""
    try:
        with file.open("ab") as stream:
            stream.write(markdown(report).encode())
    except OSError as error:
        return f"The step's summary could not be written: {error.strerror}."
    return ""


PATIENCE = 60.0
"""Seconds after which the command is stopped: a gate must not hang on a mail server."""


def command_of(text: str) -> tuple[str, ...]:
    """Split a command into words, as a shell does; no shell runs it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-regression cannot be read: {error}.") from error
    if not words:
        raise UsageError("--on-regression names no command.", hint="Name a program.")
    return tuple(words)


def tell(command: tuple[str, ...], report: GateReport, patience: float = PATIENCE) -> str:
    """Run a command with the report as JSON on its standard input; return an error, or nothing.

    Its environment has the facts as `TRACEKIT_OUTCOME` and the like. Its output goes to standard
    error. Neither its end nor that of its own processes changes the verdict.
    """
    try:
        programs.find_program(command[0], os.environ.get("PATH"))
        environment = os.environ | facts(report)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno(),
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        return f"{command[0]} could not be run: {cause}."
    try:
        process.communicate(msgspec.json.encode(report), timeout=patience)
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {patience:g} s, and was ended."
    finally:
        if process.poll() is None:
            processes.kill_group(process)
            process.wait()
    if process.returncode:
        return f"{command[0]} ended with {process.returncode}."
    return ""


def facts(report: GateReport) -> dict[str, str]:
    """Return the variables for a command's environment; each value fits into one line."""
    regressions = [case for case in report.cases if case.outcome is Outcome.REGRESSION]
    worse = [f"{case.suite}: {case.name}" for case in regressions]
    worse_names = ", ".join(worse)
    values = {
        "OUTCOME": str(report.outcome),
        "TITLE": report.title,
        "SUBJECT": report.subject,
        "REASON": report.reason,
        "PLAN": report.plan,
        "MACHINE": report.machine,
        "COMMIT": report.commit,
        "STARTED": report.started,
        "WORSE": worse_names,
    }
    return {f"TRACEKIT_{name}": flatten_text(value) for name, value in values.items()}
