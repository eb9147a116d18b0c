"""What an analysis says: the one document that reports and histories read.

`result.json` is versioned by `FORMAT`. History of the format:

    1   first
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from tracekit.analysis.finding import Finding
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import read_input
from tracekit.base.recording import Provenance

FORMAT = 1


class Better(StrEnum):
    """Which direction of a metric is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Status(StrEnum):
    """How a check ended: abstained means that it could not know, failed that it broke."""

    PASSED = "passed"
    FOUND = "found"
    ABSTAINED = "abstained"
    FAILED = "failed"


@dataclass(frozen=True)
class Measurement:
    """A metric's value in this run; None, with the reason, where it is not available."""

    name: str
    value: float | int | None
    unit: str
    better: Better
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """How one rule ended, and why it abstained or failed."""

    rule: str
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """All that a report and a history know of a run.

    `metrics` are what tracekit measured, `results` what the workload says it measured itself.
    """

    provenance: Provenance
    metrics: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    results: tuple[Measurement, ...] = ()
    format: int = field(default=FORMAT, kw_only=True)

    def metric(self, name: str) -> Measurement | None:
        """Return the metric `name`, or None where this result does not have it."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def load(path: Path) -> Result:
    """Read a `result.json`; raise where there is none, or one that cannot be understood."""
    try:
        content = read_input(path)
        _refuse_newer(path, msgspec.json.decode(content, type=_Versioned).format)
        return msgspec.json.decode(content, type=Result)
    except FileNotFoundError:
        raise RecordingError(
            f"{path} does not exist.", hint=f"Run `tracekit analyze {path.parent}` first."
        ) from None
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} cannot be read: {error}.", hint=f"Run `tracekit analyze {path.parent}` again."
        ) from error


@dataclass(frozen=True)
class _Versioned:
    format: int = FORMAT


def _refuse_newer(path: Path, number: int) -> None:
    if number > FORMAT:
        raise InputError(
            f"{path} has format {number}; this tracekit reads up to {FORMAT}.",
            hint="Use the tracekit that wrote it, or analyze the run again.",
        )
