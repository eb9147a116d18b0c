"""A report written to files: each whole or not at all."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.recording import write_whole
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.markdown import MOST, markdown, summary
from tracekit.nightly.gate.report.model import GateReport
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif


@dataclass(frozen=True)
class Destinations:
    """Which reports are written, and where; None for those that are not."""

    junit: Path | None = None
    sarif: Path | None = None
    openmetrics: Path | None = None
    markdown: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that are asked for."""
        asked = (self.junit, self.sarif, self.openmetrics, self.markdown)
        return tuple(one for one in asked if one is not None)


def write_reports(report: GateReport, destinations: Destinations) -> list[TracekitError]:
    """Write all reports that are asked for; return what went wrong, so that none stops another."""
    writers = (
        (destinations.junit, lambda: junit(report)),
        (destinations.sarif, lambda: sarif(report, version("tracekit"))),
        (destinations.openmetrics, lambda: openmetrics(report)),
        (destinations.markdown, lambda: markdown(report).encode()),
    )
    errors: list[TracekitError] = []
    for file, write in writers:
        if file is None:
            continue
        try:
            write_whole(file, write())
        except TracekitError as error:
            errors.append(error)
    return errors


def append_summary(report: GateReport, file: Path) -> str:
    """Add the report to the summary of a step of GitHub Actions; return what went wrong.

    Others may have written there before: nothing is taken away, and all together stays within
    what GitHub takes.
    """
    try:
        written = file.stat().st_size if file.exists() else 0
        if text := summary(report, max(MOST - written, 0)):
            with file.open("ab") as stream:
                stream.write(text.encode())
    except OSError as error:
        return f"The step's summary could not be written: {error.strerror}."
    return "" if text else "The step's summary is full, so that the gate is not in it."
