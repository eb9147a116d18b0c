"""Whether a recording has GPU work of its target: found in an export, without reading it whole."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.recording import Recording
from tracekit.record.guardian.sizes import size
from tracekit.record.xctrace.exporting import GPU_INTERVALS, NO_ROWS, has_rows
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables.toc.export_files import wanted
from tracekit.tables.toc.toc import TocRun

log = logging.getLogger(__name__)

_CHUNK = 1 << 20
_LONGEST_PID = 512
# A process is written out where it is first met; later rows refer to it by number.
_PID = re.compile(rb"<pid\b[^<>]*>(\d+)</pid>")


def pids_in(export: Path) -> frozenset[int]:
    """Return the process ids that an export names."""
    found: set[int] = set()
    with export.open("rb") as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            text = rest + chunk
            found.update(int(one) for one in _PID.findall(text))
            rest = text[-_LONGEST_PID:]
    return frozenset(found)


def target_has_rows(recording: Recording, pids: Iterable[int]) -> bool | None:
    """Tell whether the exported GPU intervals name one of `pids`; None if that is not known."""
    files = sorted(recording.exports.glob(f"{GPU_INTERVALS}*.xml"))
    wanted_pids = frozenset(pids)
    if not files or not wanted_pids:
        return None
    return any(pids_in(file) & wanted_pids for file in files)


def look_for_rows(
    tool: Xctrace, recording: Recording, run: TocRun, pids: Iterable[int], largest: float
) -> bool | None:
    """Export the GPU intervals of a bundle of up to `largest` bytes, and look for `pids`.

    None where it is not known: the table is not there, or cannot be exported, which the stage
    `export` tries again and tells.
    """
    if size([recording.bundle]) > largest:
        return None
    try:
        for table in wanted(run, {GPU_INTERVALS}):
            output = recording.exports / table.file
            tool.export_table(recording.bundle, run.number, table.schema, output, table.place)
    except TracekitError as error:
        log.info("rows were not looked for: %s", error)
        return None
    return target_has_rows(recording, pids)


def without_rows(
    recording: Recording, pids: Iterable[int], named: frozenset[int] | None = None
) -> str:
    """Say that the target has no rows, and whether anybody has.

    `named` are the processes that have some, where they were not looked for in exports.
    """
    files = recording.exports.glob(f"{GPU_INTERVALS}*.xml")
    if not (named or any(has_rows(file) for file in files)):
        return NO_ROWS
    numbers = ", ".join(map(str, sorted(pids)))
    return (
        f"{GPU_INTERVALS} has rows of other processes only: no GPU work of the target (process "
        f"{numbers}) was recorded. See whether the target was awake and used Metal."
    )
