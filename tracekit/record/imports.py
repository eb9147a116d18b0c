"""Make a run's folder from a recording that was made elsewhere: exports or bundles."""

import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.analysis import scope
from tracekit.base import (
    InputError,
    InterruptedRunError,
    Provenance,
    Recording,
    RecordingError,
    ToolError,
    UsageError,
    checksums,
    make_timestamp,
    own_version,
    stages,
    unpacking,
)
from tracekit.base import files as base_files
from tracekit.machine import chips
from tracekit.record.host.exports import write_rows
from tracekit.record.inputs import (
    ExportFiles,
    find_inputs,
    find_profiled_capture,
    holds_capture,
    make_emptiness_error,
    name_of,
    recordings_of,
)
from tracekit.record.progress import Progress
from tracekit.record.recorders import choose, choose_used_schemas
from tracekit.record.targets import with_target
from tracekit.record.xctrace.exporting import Choose
from tracekit.record.xctrace.tool import find_xctrace
from tracekit.tables import (
    DirectNote,
    TocRun,
    captures,
    of_bundle,
    toc,
    xcode_counters,
)
from tracekit.tables import exports as tables_exports
from tracekit.tables import losses as tables_losses
from tracekit.workload import plan

_DEVICE = (("model", "model"), ("system", "platform"), ("release", "os-version"))


def describe_origin(
    provenance: Provenance, recording: Recording, name: str, number: int | None
) -> Provenance:
    """Fill in the origin of a run, as far as its table of contents gives it.

    `number` selects the run of the trace; None selects the last one that has tables. Raise
    UsageError if there is no such run.
    """
    export_index = tables_exports.index(recording.exports)
    run, run_warnings = tables_exports.select_run(export_index, recording.exports, number, name)
    run_number = None
    if run is not None:
        run_number = run.number
    provenance = replace(provenance, recorder="import", workload=name, run=run_number)
    if export_index.toc is None or run is None:
        unknown = "The exports came without a TOC: machine, times and target are not known."
        return replace(provenance, warnings=(*run_warnings, unknown))
    note = DirectNote.read(recording.exports)
    if note is not None:
        losses = of_bundle.losses_of_run(note.path(recording.exports), run.number)
        run_warnings = (*run_warnings, *tables_losses.sentences(losses))
    recorder_version = ""
    if run.instruments_version:
        recorder_version = f"Instruments {run.instruments_version}"
    return replace(
        provenance,
        recorder_version=recorder_version,
        targets=(run.target,) if run.target else (),
        templates=(run.template,) if run.template else (),
        started=run.start_date,
        ended=run.end_date,
        duration=run.duration,
        end_reason=run.end_reason,
        machine=_describe_machine(run),
        warnings=run_warnings,
    )


def _describe_machine(run: TocRun) -> dict[str, Any]:
    """Return the facts of the machine that the TOC gives, by our names."""
    machine: dict[str, Any] = {}
    for our_name, toc_name in _DEVICE:
        fact = run.device.get(toc_name)
        if fact:
            machine[our_name] = fact
    if chips.is_virtual_device(run.device.get("model", "")):
        machine["virtual"] = True
    return machine


def choose_run(recording: Recording, number: int) -> None:
    """Switch a recording to another run of its trace: its target, times and machine.

    Result and page of the run before are removed. Raise UsageError if the trace has no such run.
    """
    old_provenance = recording.provenance()
    if old_provenance.run == number:
        return
    if old_provenance.recorder == "import":
        blank = replace(old_provenance, targets=(), target_reason="")
        new_provenance = describe_origin(blank, recording, old_provenance.workload, number)
        new_provenance = with_target(new_provenance, recording, None)
    else:
        run, _ = tables_exports.select_run(
            tables_exports.index(recording.exports), recording.exports, number
        )
        run_number = None
        if run is not None:
            run_number = run.number
        new_provenance = replace(old_provenance, run=run_number)
    with checksums.noting(recording.folder, "analyze", begin=False):
        recording.save_provenance(new_provenance)
        for file in (recording.result_file, recording.report_file):
            file.unlink(missing_ok=True)


def choose_target(recording: Recording, target: str) -> None:
    """Judge another process of a run from now on: `target` is its pid or name.

    Result and page of the process before are removed. Raise UsageError if the tables do not name
    exactly one such process.
    """
    old_provenance = recording.provenance()
    new_provenance = with_target(old_provenance, recording, target)
    if new_provenance.targets == old_provenance.targets:
        return
    with checksums.noting(recording.folder, "analyze", begin=False):
        recording.save_provenance(new_provenance)
        for file in (recording.result_file, recording.report_file):
            file.unlink(missing_ok=True)


_REPLAYED = (
    "Xcode's counters are values of a serialized replay at a fixed clock: they show the limits of "
    "each encoder there, and nothing about the run's rates, idle time or clock."
)
_NOT_TIMED = (
    "A GPU frame capture has no times: its tables show the work that was captured, not its speed."
)


_Unpack = Callable[[Path, Path], tuple[str, ...]]


@dataclass(frozen=True)
class _Import:
    """The options for each recording; see `bring`."""

    output: Path | None
    target: str | None
    progress: Progress
    run: int | None
    choose_schemas: Choose
    include: tuple[str, ...] = ()
    in_place: bool = False

    def exports(self, files: ExportFiles) -> Recording:
        """Copy exports into a run's folder."""
        if files.toc is not None:
            toc.read_toc(files.toc)
        recording = self._claim_folder(files.name, files.tables)
        with _importing(recording):
            if not self.in_place:
                self.progress(f"copying {len(files.tables)} tables")
            _take(files, recording, in_place=self.in_place)
            self._describe(recording, files.name, _describe_strangers(files))
        return recording

    def counters(self, files: Sequence[Path]) -> Recording:
        """Make a run of counters that Xcode exported of a GPU frame capture."""
        counters = xcode_counters.read_counters(files)
        name = min(files, key=_order_for_naming).stem
        recording = self._claim_folder(name, files)
        with _importing(recording):
            _write_counters(counters, recording)
            provenance = replace(recording.provenance(), recorder="import", workload=name)
            warnings = (_REPLAYED, *counters.remarks)
            recording.save_provenance(
                replace(provenance, target_reason=scope.UNNAMED, warnings=warnings)
            )
        return recording

    def capture(self, bundle: Path, counter_files: Sequence[Path] = ()) -> Recording:
        """Make a run of a GPU frame capture or of a zip file with one, and of its counters.

        The run has a link to the capture.
        """
        counters: xcode_counters.Counters | None = None
        if counter_files:
            counters = xcode_counters.read_counters(counter_files)
        name = name_of(bundle)
        recording = self._claim_folder(name, [bundle, *counter_files])
        with _importing(recording):
            unpack_warnings = self._place(bundle, recording.gputrace, unpacking.unpack_capture)
            self.progress("opening the capture")
            of_bundle.leave_in_place(recording.gputrace, recording.exports, self.include)
            capture = captures.open_capture(recording.gputrace)
            tables_losses.report(capture.losses, read=False)
            losses = tables_losses.sentences(capture.losses)
            warnings = (_NOT_TIMED, *unpack_warnings, *losses)
            if counters is not None:
                _write_counters(counters, recording)
                warnings = (*warnings, _REPLAYED, *counters.remarks)
            provenance = replace(
                recording.provenance(),
                recorder="import",
                workload=name,
                machine=dict(capture.machine),
                target_reason=scope.UNNAMED,
                warnings=warnings,
            )
            recording.save_provenance(provenance)
        return recording

    def bundle(self, bundle: Path) -> Recording:
        """Make a run of a bundle, with a link to it, or of a zip file, which is unpacked."""
        if holds_capture(bundle):
            return self.capture(bundle)
        name = name_of(bundle)
        recording = self._claim_folder(name, [bundle])
        with _importing(recording):
            unpack_warnings = self._place(bundle, recording.bundle, unpacking.unpack_bundle)
            self.progress("opening the bundle")
            open_warnings = open_tables(recording, self.progress, self.choose_schemas)
            self._describe(recording, name, (*unpack_warnings, *open_warnings))
        return recording

    def _place(self, bundle: Path, place: Path, unpack: _Unpack) -> tuple[str, ...]:
        """Put a bundle into a run's folder; return a warning of the unread files of a zip file."""
        if bundle.is_dir():
            place.symlink_to(bundle.resolve())
            return ()
        self.progress("unpacking the bundle")
        other_files = unpack(bundle, place)
        if not other_files:
            return ()
        files = f"{len(other_files):,} files"
        if len(other_files) == 1:
            files = "1 file"
        warning = (
            f"{bundle.name} has {files} outside the bundle, not read: "
            f"{unpacking.some_of(other_files)}."
        )
        return (warning,)

    def _claim_folder(self, name: str, inputs: Sequence[Path]) -> Recording:
        provenance = Provenance(
            tracekit=own_version(), created=make_timestamp(), counters="", run=self.run
        )
        return plan.claim_folder(self.output, name, provenance, inputs)

    def _describe(self, recording: Recording, name: str, warnings: tuple[str, ...] = ()) -> None:
        describe_import(recording, name, self.run, self.target, warnings)


def _describe_strangers(files: ExportFiles) -> tuple[str, ...]:
    """Return a warning of the exports that are left out because of their names."""
    if files.toc is None or not files.strangers:
        return ()
    names = unpacking.some_of([table.name for table in files.strangers])
    warning = (
        f"Left out, because {files.toc.name} is the only table of contents and their names are "
        f"not of {files.name}: {names}. Import them from a folder of their own."
    )
    return (warning,)


def _write_counters(counters: xcode_counters.Counters, recording: Recording) -> None:
    recording.exports.mkdir(exist_ok=True)
    cells = counters.rows.astype(object).where(counters.rows.notna(), None)
    rows = cells.itertuples(index=False, name=None)
    write_rows(recording.exports, "replay_counters", rows)


def write_limits(recording: Recording, rows: Sequence[tuple[int | str | None, ...]]) -> None:
    """Write the limits of the pipelines of a run's capture, in the columns of the table."""
    write_rows(recording.exports, "pipeline_limits", rows)


def describe_import(
    recording: Recording,
    name: str,
    run: int | None,
    target: str | None,
    warnings: tuple[str, ...] = (),
) -> None:
    """Note the origin of an imported run and the process whose rows count; see `bring`."""
    provenance = describe_origin(recording.provenance(), recording, name, run)
    provenance = replace(provenance, warnings=(*provenance.warnings, *warnings))
    recording.save_provenance(provenance)
    recording.save_provenance(with_target(provenance, recording, target))


def open_tables(
    recording: Recording, progress: Progress, choose_schemas: Choose
) -> tuple[str, ...]:
    """Read a bundle's tables directly if possible; otherwise export them with xctrace."""
    try:
        of_bundle.leave_in_place(recording.bundle, recording.exports)
    except InputError as error:
        if find_xctrace() is None:
            raise
        exporter = choose("xctrace", choose_schemas)
        export_warnings = exporter.export(recording, progress)
        return (f"{error.message} Its tables were exported by xctrace.", *export_warnings)
    return ()


def _order_for_naming(file: Path) -> tuple[bool, str]:
    """Sort CSV files first: the first file of a capture names its run."""
    return file.suffix.lower() != ".csv", file.name


@contextmanager
def _importing(recording: Recording) -> Generator[None]:
    """Mark the stage `import`, and remove the run's folder if the import does not complete.

    The source is still there, and half a run would pass for a whole one. After a failed export by
    xctrace the folder is kept, because its tables can still be exported.
    """
    try:
        with stages.running(recording, "import"):
            yield
    except ToolError:
        raise
    except InterruptedRunError as stop:
        plan.discard(recording)
        raise InterruptedRunError(
            "Interrupted while importing; nothing of it is kept.", hint="Import it again."
        ) from stop
    except BaseException:
        plan.discard(recording)
        raise


def _take(source: ExportFiles, recording: Recording, *, in_place: bool) -> None:
    """Copy the exports into a run, or link to them."""
    try:
        with base_files.making(recording.exports) as folder:
            if source.toc is not None:
                shutil.copyfile(source.toc, folder / recording.toc_file.name)
            for table in source.tables:
                free_path = _find_free_path(folder, tables_exports.identify(table).schemas, table)
                if in_place:
                    free_path.symlink_to(table.resolve())
                else:
                    shutil.copyfile(table, free_path)
    except OSError as error:
        raise RecordingError(
            f"The exports cannot be copied into {recording.folder}: {error.strerror}.",
            hint=base_files.remedy(error, "--output"),
        ) from error


def _find_free_path(folder: Path, schemas: Sequence[str], table: Path) -> Path:
    stem = table.stem
    if len(schemas) == 1:
        stem = schemas[0]
    # Tables are found by these endings, whatever ending the file had.
    ending = ".xml"
    if table.suffix == tables_exports.PARQUET:
        ending = tables_exports.PARQUET
    path = folder / f"{stem}{ending}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{ending}"
    return path


def bring(
    paths: Sequence[Path],
    output: Path | None,
    target: str | None,
    progress: Progress,
    run: int | None = None,
    *,
    choose_schemas: Choose = choose_used_schemas,
    include: Sequence[str] = (),
    in_place: bool = False,
) -> list[Recording]:
    """Make a run's folder for each recording found in the given files and folders.

    All of Xcode's exports of counters among them belong to one capture; if exactly one GPU frame
    capture is among them too, it is that one, and both become one run. `target` names the process
    whose rows count, by default the target of the recording; `run` the run of each trace, by
    default the last one; `choose_schemas` the schemas that are exported from a bundle that cannot
    be read directly; `include` the private parts of GPU frame captures that become tables. With
    `in_place`, exports are not copied: the run has links to them. Raise UsageError if a path, the
    target or the run does not exist, or `output` is given for several recordings or is taken;
    InputError if there is no export, it is not clear which files belong together, or a bundle is
    damaged or unknown.
    """
    bundles, files = find_inputs(paths)
    counters = [file for file in files if xcode_counters.is_counters(file)]
    files = [file for file in files if file not in counters]
    exports: list[ExportFiles] = []
    if files:
        exports = recordings_of(files)
    profiled_capture = find_profiled_capture(bundles, counters)
    recording_count = len(exports) + len(bundles)
    if counters and profiled_capture is None:
        recording_count += 1
    if not recording_count:
        raise make_emptiness_error(paths)
    if output is not None and recording_count > 1:
        names = [source.name for source in exports]
        names += map(name_of, bundles)
        raise _make_crowd_error(recording_count, names)
    importer = _Import(output, target, progress, run, choose_schemas, tuple(include), in_place)
    recordings = list(map(importer.exports, exports))
    for bundle in bundles:
        if bundle == profiled_capture:
            recordings.append(importer.capture(bundle, counters))
        else:
            recordings.append(importer.bundle(bundle))
    if counters and profiled_capture is None:
        recordings.append(importer.counters(counters))
    return recordings


def _make_crowd_error(recording_count: int, names: Sequence[str]) -> UsageError:
    return UsageError(
        f"--output names one folder, but there are {recording_count} recordings: "
        f"{', '.join(names)}.",
        hint="Leave --output out, or name the files of one recording.",
    )
