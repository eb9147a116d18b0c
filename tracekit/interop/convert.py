"""One run into one of the formats that other programs read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tracekit.analysis import Finding
from tracekit.base import Recording, TracekitError, UsageError, distribution, outputs, require
from tracekit.base import files as base_files
from tracekit.interop.chrome import write_chrome
from tracekit.interop.speedscope import write_speedscope
from tracekit.interop.step_costs import write_step_costs
from tracekit.interop.tracks import Redact, Track, tracks
from tracekit.tables import Flaw, Loss, Tables, convert, losses


@dataclass(frozen=True)
class TraceFormat:
    """A format: the end of its files' names, its meaning for people, and its writer.

    `write` takes redacted tracks; it is None if each table becomes a file of its own, and for
    stacks and steps, which are not tracks.
    """

    suffix: str
    meaning: str
    write: Callable[[Sequence[Track], BinaryIO], None] | None = None


def _write_perfetto(tracks: Sequence[Track], file: BinaryIO) -> None:
    distribution.require_extra("perfetto")
    from tracekit.interop.perfetto import write_perfetto  # noqa: PLC0415  of an extra

    write_perfetto(tracks, file)


_STACKS = "speedscope"
_STEPS = "steps"
FORMATS: Mapping[str, TraceFormat] = {
    "perfetto": TraceFormat(
        ".pftrace", "tracks, levels and flows, for ui.perfetto.dev", _write_perfetto
    ),
    "chrome": TraceFormat(
        ".trace.json", "the same as JSON, for chrome://tracing and others", write_chrome
    ),
    _STACKS: TraceFormat(".speedscope.json", "stacks of threads, for speedscope.app"),
    _STEPS: TraceFormat(".steps.csv", "tokens, lengths, shape and GPU ms of each step, by phase"),
    "parquet": TraceFormat(".parquet", "every table as a file, with its dtypes"),
    "csv": TraceFormat(".csv", "every table as a file, as text"),
    "feather": TraceFormat(".feather", "every table as a file, for Arrow"),
}


def convert_run(
    recording: Recording,
    tables: Tables,
    to: str,
    output: Path | None,
    redact: Redact,
    *,
    findings: tuple[Finding, ...] = (),
    force: bool = False,
) -> list[Path]:
    """Write a run in a format of `FORMATS` into a file, or a folder with a file for each table.

    Return the files; tables that could not be read are reported as losses. By default the place
    is `convert/NAME` in the run's folder. `findings` become a track. `redact` removes private names
    from a text; tables that become files are written as they are. Files that tracekit did not make
    are replaced only with `force`.

    Raises:
        UsageError: There is no such format, or an existing file must not be replaced.
        InputError: The run has no data for the format.
        RecordingError: The file cannot be written.
    """
    require(to, FORMATS, "format")
    form = FORMATS[to]
    name = recording.folder.resolve().name
    if form.write is None and to not in {_STACKS, _STEPS}:
        folder = output or recording.folder / "convert" / to
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                f"{folder} is not a folder.", hint="Each table becomes a file of its own."
            )
        files = {table: folder / f"{table}{form.suffix}" for table in tables}
        with _claim_files(files.values(), recording, output, force=force):
            return _each_table(tables, files)
    path = output or recording.folder / "convert" / f"{name}{form.suffix}"
    with _claim_files([path], recording, output, force=force), base_files.replacing(path) as file:
        if to == _STEPS:
            write_step_costs(tables, recording.provenance(), file)
        elif form.write is None:
            write_speedscope(tables, name, redact, file)
        else:
            written_tracks = list(tracks(tables, findings, redact))
            form.write(written_tracks, file)
    return [path]


def _claim_files(
    files: Iterable[Path], recording: Recording, output: Path | None, *, force: bool
) -> AbstractContextManager[None]:
    """Check the files of an `output` that the user named; else they are in the run's own folder."""
    if output is None:
        return nullcontext()
    return outputs.writing(files, [recording.folder], force=force)


def _each_table(tables: Tables, places: Mapping[str, Path]) -> list[Path]:
    files: list[Path] = []
    for name, file in places.items():
        try:
            frame = tables[name]
        except TracekitError as error:
            loss = Loss(Flaw.UNREADABLE, f"{name}: {error.message}", table=name)
            losses.report([loss])
            continue
        convert.write_table(frame, file)
        files.append(file)
    return files
