"""The page over a batch: all rows of its data set, drawn."""

from pathlib import Path

import msgspec

from tracekit.base.recording import write_whole
from tracekit.base.redaction import nothing
from tracekit.fleet.batch.report.entry import COLUMNS, Entry
from tracekit.fleet.batch.report.page import render_batch
from tracekit.fleet.batch.results import RESULTS, Results

PAGE = "index.html"


def write_page(output: Path) -> Path:
    """Write `index.html` of what the data set holds; names in it were redacted as they came.

    Raises:
        RecordingError: It cannot be written.
    """
    rows = Results(output / RESULTS).rows(COLUMNS)
    entries = [msgspec.convert(row, Entry) for row in rows]
    page = output / PAGE
    text = render_batch(entries, output.resolve().name, redact=nothing)
    write_whole(page, text.encode())
    return page
