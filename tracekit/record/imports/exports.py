"""A run out of exports and their table of contents."""

import shutil
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path

from tracekit.base.errors import RecordingError
from tracekit.base.recording import Provenance, Recording, now, stage
from tracekit.record.imports.described import described, with_target
from tracekit.record.imports.sources import Source
from tracekit.record.recorder import Progress
from tracekit.tables.exports import identify
from tracekit.tables.toc.read import read_toc
from tracekit.workload.plan import claimed, kept_unless_misused


def bring_exports(
    source: Source,
    output: Path | None,
    target: str | None,
    progress: Progress,
    run: int | None = None,
) -> Recording:
    """Copy exports into a run's folder.

    Args:
        source: The exports.
        output: The run's folder; None for a new one.
        target: Whose rows count; None for the target of the recording.
        progress: Told what is being done.
        run: Which run of the trace, where it has several; None for the last one.

    Raises:
        UsageError: The target is none of the processes, there is no such run, or the output is
            taken.
        RecordingError: The exports cannot be copied.
        InputError: The TOC cannot be read.
    """
    if source.toc is not None:
        read_toc(source.toc)
    begun = Provenance(tracekit=version("tracekit"), created=now(), counters="")
    recording = claimed(output, source.name, begun, source.tables)
    with kept_unless_misused(recording), stage(recording, "import"):
        progress(f"copying {len(source.tables)} tables")
        _copy(source, recording)
        provenance = described(recording.provenance(), recording, source.name, run)
        recording.save_provenance(with_target(provenance, recording, target))
    return recording


def _copy(source: Source, recording: Recording) -> None:
    try:
        recording.exports.mkdir(exist_ok=True)
        if source.toc is not None:
            shutil.copyfile(source.toc, recording.toc_file)
        for table in source.tables:
            shutil.copyfile(table, _free_name(recording.exports, identify(table).schemas, table))
    except OSError as error:
        raise RecordingError(
            f"The exports cannot be copied into {recording.folder}: {error.strerror}.",
            hint="Make room or name another folder with --output.",
        ) from error


def _free_name(folder: Path, schemas: Sequence[str], table: Path) -> Path:
    stem = schemas[0] if len(schemas) == 1 else table.stem
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    names = (folder / f"{stem}{suffix}.xml" for suffix in suffixes)
    return next(name for name in names if not name.exists())
