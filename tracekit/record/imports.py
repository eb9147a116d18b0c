"""Make a run's folder out of what someone else recorded: exports or bundles."""

import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path

import pandas as pd

from tracekit.analysis import UNKNOWN
from tracekit.base import (
    InputError,
    InterruptedRunError,
    Process,
    Provenance,
    Recording,
    RecordingError,
    ToolError,
    UsageError,
    make_timestamp,
    making,
    noting,
    remedy,
    some_of,
    stage,
    unpack_bundle,
)
from tracekit.record.host.exports import write_rows
from tracekit.record.recorder import Progress
from tracekit.record.recorders import choose, choose_used_schemas
from tracekit.record.xctrace.exporting import Choose
from tracekit.record.xctrace.tool import find_xctrace
from tracekit.tables import (
    PACKED,
    PARQUET,
    SUFFIX,
    Choice,
    Tables,
    direct,
    export_files,
    identify,
    index,
    is_bundle,
    is_xcode_counters,
    leave_in_place,
    losses_of_run,
    read_toc,
    read_xcode_counters,
    refusal,
    select_run,
    sentences,
)
from tracekit.workload import claim_folder, discard

_OF_PROCESSES = (
    *("gpu_intervals", "encoders", "submissions", "driver_intervals"),
    *("cpu_profile", "cycle_profile"),
)
_DEVICE = (("model", "model"), ("system", "platform"), ("release", "os-version"))
_TOC = re.compile(r"(?<![^\W_])toc(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class ExportFiles:
    """What belongs to one recording: a name, its TOC if there is one, its tables."""

    name: str
    toc: Path | None
    tables: tuple[Path, ...]


def find_inputs(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return bundles, packed or not, and files that may be exports, each once."""
    bundles: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        if _is_recording(path):
            bundles.append(path)
        elif path.is_dir():
            called_so = (entry for entry in path.iterdir() if SUFFIX in entry.name.lower())
            bundles += sorted(filter(_is_recording, called_so))
            files += [*export_files(path), *sorted(filter(is_xcode_counters, path.iterdir()))]
        else:
            files.append(path)
    return _each_once(bundles), _each_once(files)


def name_of(bundle: Path) -> str:
    """Return what a bundle is called, packed or not, without its suffixes."""
    suffixes = rf"({re.escape(SUFFIX)})?({re.escape(PACKED)})?$"
    return re.sub(suffixes, "", bundle.name, count=1, flags=re.IGNORECASE)


def _is_recording(path: Path) -> bool:
    return is_bundle(path) or (path.suffix.lower() == PACKED and path.is_file())


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """Leave out what was named twice, in whatever words: its rows would count twice."""
    return list({path.resolve(): path for path in reversed(paths)}.values())[::-1]


def recordings_of(files: Sequence[Path]) -> list[ExportFiles]:
    """Sort files into recordings: a TOC and the tables whose names hold the TOC's.

    Raise InputError where a file is no export, or belongs to none or several of the TOCs.
    """
    kinds = {file: identify(file) for file in files}
    tocs = [file for file, content in kinds.items() if content.kind == "toc"]
    tables = [file for file, content in kinds.items() if content.kind == "tables"]
    strange = [file for file, content in kinds.items() if content.kind == "unknown"]
    if strange:
        raise refusal(strange[0])
    if len(tocs) <= 1:
        name = _key(tocs[0]) if tocs else tables[0].stem if tables else ""
        return [ExportFiles(name, tocs[0] if tocs else None, tuple(tables))] if kinds else []
    owners = {table: _owner(table, tocs) for table in tables}
    return [
        ExportFiles(_key(toc), toc, tuple(table for table, owner in owners.items() if owner == toc))
        for toc in tocs
    ]


def _owner(table: Path, tocs: Sequence[Path]) -> Path:
    matching_tocs = [toc for toc in tocs if _key(toc) in table.stem and toc.parent == table.parent]
    best = [
        toc
        for toc in matching_tocs
        if len(_key(toc)) == max(len(_key(other_toc)) for other_toc in matching_tocs)
    ]
    if len(best) != 1:
        raise InputError(
            f"It is not clear to which of {len(tocs)} TOCs {table} belongs.",
            hint="Import one recording at a time: its TOC and its tables.",
        )
    return best[0]


def _key(toc: Path) -> str:
    """Return what the file of a TOC is named after: gpu_baseline_toc → gpu_baseline."""
    return _TOC.sub("", toc.stem).strip("-_. ") or toc.parent.name


def describe_origin(
    provenance: Provenance, recording: Recording, name: str, number: int | None
) -> Provenance:
    """Say where a run comes from, as far as its table of contents does.

    `number` is which run of the trace it is about; None for the last one that has tables. Raise
    UsageError where there is no such run.
    """
    export_index = index(recording.exports)
    run, run_warnings = select_run(export_index, recording.exports, number, name)
    provenance = replace(provenance, recorder="import", workload=name, run=run and run.number)
    if export_index.toc is None or run is None:
        unknown = "The exports came without a TOC: machine, times and target are not known."
        return replace(provenance, warnings=(*run_warnings, unknown))
    note = direct(recording.exports)
    losses = () if note is None else losses_of_run(note.path(recording.exports), run.number)
    return replace(
        provenance,
        recorder_version=f"Instruments {version}" if (version := run.instruments_version) else "",
        targets=(run.target,) if run.target else (),
        templates=(run.template,) if run.template else (),
        started=run.start_date,
        ended=run.end_date,
        duration=run.duration,
        end_reason=run.end_reason,
        machine={ours: run.device[name] for ours, name in _DEVICE if run.device.get(name)},
        warnings=(*run_warnings, *sentences(losses)),
    )


def choose_run(recording: Recording, number: int) -> None:
    """Make a recording be about another run of its trace: its target, times and machine.

    What was found out about the run before, result and page, is removed. Raise UsageError where
    the trace has no such run.
    """
    old_provenance = recording.provenance()
    if old_provenance.run == number:
        return
    if old_provenance.recorder == "import":
        blank = replace(old_provenance, targets=(), target_reason="")
        new_provenance = describe_origin(blank, recording, old_provenance.workload, number)
        new_provenance = with_target(new_provenance, recording, None)
    else:
        run, _ = select_run(index(recording.exports), recording.exports, number)
        new_provenance = replace(old_provenance, run=None if run is None else run.number)
    with noting(recording.folder, "analyze", begin=False):
        recording.save_provenance(new_provenance)
        for file in (recording.result_file, recording.report_file):
            file.unlink(missing_ok=True)


def run_and_targets(
    recording: Recording, number: int | None = None
) -> tuple[int | None, frozenset[int]]:
    """Return the run that tables are read of, and the pids of its targets.

    `number` is which run of its trace; None for the one that the recording is about. Raise
    UsageError where there is no such run.
    """
    provenance = recording.provenance()
    run, targets = None, provenance.targets
    if number not in {None, provenance.run}:
        run, _ = select_run(index(recording.exports), recording.exports, number)
    if run is not None and provenance.recorder == "import":
        targets = () if run.target is None else (run.target,)
    run_number = provenance.run if number is None else number
    return run_number, frozenset(target.pid for target in targets)


def with_target(provenance: Provenance, recording: Recording, target: str | None) -> Provenance:
    """Settle whose rows count: what the user says, the TOC, or the only process there is."""
    if target is None and provenance.targets:
        return provenance
    seen_processes = processes(recording, provenance.run)
    if target is not None:
        return replace(provenance, targets=(_chosen(target, seen_processes),))
    if len(seen_processes) == 1:
        warning = (
            f"{seen_processes[0].name} ({seen_processes[0].pid}) is taken for the target: no other "
            "has rows."
        )
        return replace(provenance, targets=seen_processes, warnings=(*provenance.warnings, warning))
    return replace(provenance, target_reason=UNKNOWN)


def processes(recording: Recording, run: int | None = None) -> tuple[Process, ...]:
    """Return the processes that the tables of a run name, by pid."""
    tables = Tables(recording.exports, frozenset(), recording.tables, Choice(run))
    names_by_pid: dict[int, str] = {}
    for name in _OF_PROCESSES:
        for table in _iter_tables(tables, name):
            rows = table[["pid", "process"]].dropna().drop_duplicates()
            names_by_pid |= dict(
                zip(rows["pid"].astype(int), rows["process"].astype(str), strict=True)
            )
    return tuple(Process(pid, name) for pid, name in sorted(names_by_pid.items()))


def _iter_tables(tables: Tables, name: str) -> Iterator[pd.DataFrame]:
    """Yield a table; where it is not clear which one is meant, each that may be."""
    places = [table.place for table in tables.list_choices(name)]
    if name in tables and not places:
        yield tables[name]
    for place in places:
        yield tables.chosen(name, table=place.index, run=place.run)


def _chosen(target: str, seen_processes: Sequence[Process]) -> Process:
    by_pid = [process for process in seen_processes if str(process.pid) == target]
    matches = by_pid or [process for process in seen_processes if process.name == target]
    if len(matches) != 1:
        listed_processes = ", ".join(
            f"{process.name} ({process.pid})" for process in seen_processes
        )
        raise UsageError(
            f"--target {target} names {len(matches) or 'none'} of the processes in the tables.",
            hint=f"There are: {listed_processes or 'no process at all'}.",
        )
    return matches[0]


_REPLAYED = (
    "Xcode's counters are values of a serialized replay at a fixed clock: they say what held each "
    "encoder back there, and nothing of the run's rates, idle time or clock."
)


@dataclass(frozen=True)
class _Import:
    """What is asked of each recording; see `bring`."""

    output: Path | None
    target: str | None
    progress: Progress
    run: int | None
    choose_schemas: Choose

    def exports(self, files: ExportFiles) -> Recording:
        """Copy exports into a run's folder."""
        if files.toc is not None:
            read_toc(files.toc)
        recording = self._claim_folder(files.name, files.tables)
        with _importing(recording):
            self.progress(f"copying {len(files.tables)} tables")
            _copy(files, recording)
            self._describe(recording, files.name)
        return recording

    def counters(self, files: Sequence[Path]) -> Recording:
        """Make a run of counters that Xcode exported of a GPU frame capture."""
        counters = read_xcode_counters(files)
        name = min(files, key=lambda file: (file.suffix.lower() != ".csv", file.name)).stem
        recording = self._claim_folder(name, files)
        with _importing(recording):
            recording.exports.mkdir(exist_ok=True)
            cells = counters.rows.astype(object).where(counters.rows.notna(), None)
            rows = cells.itertuples(index=False, name=None)
            write_rows(recording.exports, "replay_counters", rows)
            provenance = replace(recording.provenance(), recorder="import", workload=name)
            warnings = (_REPLAYED, *counters.remarks)
            recording.save_provenance(replace(provenance, target_reason=UNKNOWN, warnings=warnings))
        return recording

    def bundle(self, bundle: Path) -> Recording:
        """Make a run of a bundle, with a link to it, or of a zip file, which is unpacked."""
        name = name_of(bundle)
        recording = self._claim_folder(name, [bundle])
        with _importing(recording):
            unpack_warnings = self._place_bundle(bundle, recording)
            self.progress("opening the bundle")
            self._describe(recording, name, (*unpack_warnings, *self._open_tables(recording)))
        return recording

    def _place_bundle(self, bundle: Path, recording: Recording) -> tuple[str, ...]:
        """Put a bundle into a run's folder; return what was left out of a zip file."""
        if bundle.is_dir():
            recording.bundle.symlink_to(bundle.resolve())
            return ()
        self.progress("unpacking the bundle")
        other_files = unpack_bundle(bundle, recording.bundle)
        if not other_files:
            return ()
        files = "1 file" if len(other_files) == 1 else f"{len(other_files):,} files"
        warning = f"{bundle.name} has {files} beside the bundle, not read: {some_of(other_files)}."
        return (warning,)

    def _claim_folder(self, name: str, inputs: Sequence[Path]) -> Recording:
        provenance = Provenance(
            tracekit=version("tracekit"), created=make_timestamp(), counters="", run=self.run
        )
        return claim_folder(self.output, name, provenance, inputs)

    def _describe(self, recording: Recording, name: str, warnings: tuple[str, ...] = ()) -> None:
        provenance = describe_origin(recording.provenance(), recording, name, self.run)
        provenance = replace(provenance, warnings=(*provenance.warnings, *warnings))
        recording.save_provenance(provenance)
        recording.save_provenance(with_target(provenance, recording, self.target))

    def _open_tables(self, recording: Recording) -> tuple[str, ...]:
        """Let the tables be read directly; where they cannot be, let xctrace export them."""
        try:
            leave_in_place(recording.bundle, recording.exports)
        except InputError as error:
            if find_xctrace() is None:
                raise
            exported = choose("xctrace", self.choose_schemas).export(recording, self.progress)
            return (f"{error.message} Its tables were exported by xctrace.", *exported)
        return ()


@contextmanager
def _importing(recording: Recording) -> Generator[None]:
    """Mark the stage `import`; if it does not come to its end, nothing of it stays.

    All of it is still where it was brought from, and half of it would pass for a run. Only tables
    that xctrace could not export can still be exported: such a run stays.
    """
    try:
        with stage(recording, "import"):
            yield
    except ToolError:
        raise
    except InterruptedRunError as stop:
        discard(recording)
        raise InterruptedRunError(
            "Interrupted while importing; nothing of it is kept.", hint="Import it again."
        ) from stop
    except BaseException:
        discard(recording)
        raise


def _copy(source: ExportFiles, recording: Recording) -> None:
    try:
        with making(recording.exports) as folder:
            if source.toc is not None:
                shutil.copyfile(source.toc, folder / recording.toc_file.name)
            for table in source.tables:
                shutil.copyfile(table, _free_name(folder, identify(table).schemas, table))
    except OSError as error:
        raise RecordingError(
            f"The exports cannot be copied into {recording.folder}: {error.strerror}.",
            hint=remedy(error, "--output"),
        ) from error


def _free_name(folder: Path, schemas: Sequence[str], table: Path) -> Path:
    stem = schemas[0] if len(schemas) == 1 else table.stem
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    # Tables are looked for by these endings, whatever the file was called.
    ending = PARQUET if table.suffix == PARQUET else ".xml"
    names = (folder / f"{stem}{suffix}{ending}" for suffix in suffixes)
    return next(name for name in names if not name.exists())


def bring(
    paths: Sequence[Path],
    output: Path | None,
    target: str | None,
    progress: Progress,
    run: int | None = None,
    *,
    choose_schemas: Choose = choose_used_schemas,
) -> list[Recording]:
    """Make a run's folder for each recording found in the given files and folders.

    All of Xcode's exports of counters among them belong to one capture. `target` says whose rows
    count, by default the target of the recording; `run` which run of each trace, by default the
    last one; `choose_schemas` which schemas of a bundle are exported that cannot be read where it
    is. Raise UsageError where a path, the target or the run does not exist, or `output` is given
    for several recordings or is taken, InputError where nothing there is an export, it is not clear
    which files belong together, or a bundle is damaged or unknown.
    """
    bundles, files = find_inputs(paths)
    counters = [file for file in files if is_xcode_counters(file)]
    files = [file for file in files if file not in counters]
    exports = recordings_of(files) if files else []
    found_here = len(exports) + len(bundles) + bool(counters)
    if not found_here:
        raise InputError(
            f"No export and no bundle in {', '.join(map(str, paths))}.",
            hint="An export is what `xctrace export` writes, with --toc or --xpath; a bundle's "
            "folder ends with .trace. Folders inside a folder are not searched.",
        )
    if output is not None and found_here > 1:
        source_names = [source.name for source in exports] + [name_of(source) for source in bundles]
        raise UsageError(
            f"--output names one folder, but there are {found_here} recordings: "
            f"{', '.join(source_names)}.",
            hint="Leave --output out, or name the files of one recording.",
        )
    importer = _Import(output, target, progress, run, choose_schemas)
    replayed = [importer.counters(counters)] if counters else []
    return [*map(importer.exports, exports), *map(importer.bundle, bundles), *replayed]
