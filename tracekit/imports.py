"""Make a run's folder out of what someone else recorded.

Exports come with or without their TOC, in one folder or several; a bundle is exported first,
where there is an xctrace to do it. Files are copied, never moved or changed.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from tracekit.analysis.target import UNKNOWN
from tracekit.choice import choose
from tracekit.errors import InputError, RecordingError, UsageError
from tracekit.plan import claim, kept_unless_misused
from tracekit.recorder import Progress
from tracekit.recording import Process, Provenance, Recording, now
from tracekit.stage import stage
from tracekit.tables import Tables
from tracekit.tables.exports import identify, refusal
from tracekit.toc import Toc, TocRun, read_toc

BUNDLE = ".trace"
_TOC = re.compile(r"(?<![^\W_])toc(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What belongs to one recording: a name, its TOC if there is one, its tables."""

    name: str
    toc: Path | None
    tables: tuple[Path, ...]


def bring(
    paths: Sequence[Path], output: Path | None, target: str | None, progress: Progress
) -> list[Recording]:
    """Make a run's folder for each recording found in the given files and folders.

    Raises:
        UsageError: A path does not exist, or `output` is given for several recordings.
        InputError: Nothing there is an export, or files cannot be told apart.
    """
    bundles, files = map(_each_once, _found(paths))
    sources = recordings_of(files) if files else []
    if not bundles and not sources:
        raise InputError(
            f"No export and no bundle in {', '.join(map(str, paths))}.",
            hint="An export is what `xctrace export` writes, with --toc or --xpath.",
        )
    if output is not None and len(bundles) + len(sources) > 1:
        raise UsageError(
            f"--output names one folder, but there are {len(bundles) + len(sources)} recordings: "
            f"{', '.join([one.name for one in sources] + [one.stem for one in bundles])}.",
            hint="Leave --output out, or name the files of one recording.",
        )
    made = [_bring_exports(one, output, target, progress) for one in sources]
    return made + [_bring_bundle(one, output, progress) for one in bundles]


def _found(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    bundles: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        if path.suffix == BUNDLE and path.is_dir():
            bundles.append(path)
        elif path.is_dir():
            bundles += sorted(one for one in path.glob(f"*{BUNDLE}") if one.is_dir())
            files += sorted(path.glob("*.xml"))
        else:
            files.append(path)
    return bundles, files


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """Leave out what was named twice, in whatever words: its rows would count twice."""
    return list({path.resolve(): path for path in reversed(paths)}.values())[::-1]


def recordings_of(files: Sequence[Path]) -> list[Source]:
    """Sort files into recordings: a TOC and the tables whose names hold the TOC's.

    Raises:
        InputError: A file is no export, or belongs to none or several of the TOCs.
    """
    kinds = {file: identify(file) for file in files}
    tocs = [file for file, found in kinds.items() if found.kind == "toc"]
    tables = [file for file, found in kinds.items() if found.kind == "tables"]
    strange = [file for file, found in kinds.items() if found.kind == "unknown"]
    if strange:
        raise refusal(strange[0])
    if len(tocs) <= 1:
        name = _key(tocs[0]) if tocs else tables[0].stem if tables else ""
        return [Source(name, tocs[0] if tocs else None, tuple(tables))] if kinds else []
    owners = {table: _owner(table, tocs) for table in tables}
    return [
        Source(_key(toc), toc, tuple(table for table, owner in owners.items() if owner == toc))
        for toc in tocs
    ]


def _owner(table: Path, tocs: Sequence[Path]) -> Path:
    named = [toc for toc in tocs if _key(toc) in table.stem and toc.parent == table.parent]
    best = [toc for toc in named if len(_key(toc)) == max(len(_key(one)) for one in named)]
    if len(best) != 1:
        raise InputError(
            f"It is not clear to which of {len(tocs)} TOCs {table} belongs.",
            hint="Import one recording at a time: its TOC and its tables.",
        )
    return best[0]


def _key(toc: Path) -> str:
    """Return what a TOC's file is called besides being one: gpu_baseline_toc → gpu_baseline."""
    return _TOC.sub("", toc.stem).strip("-_. ") or toc.parent.name


def _bring_exports(
    source: Source, output: Path | None, target: str | None, progress: Progress
) -> Recording:
    toc = read_toc(source.toc) if source.toc else None
    recording = Recording(claim(output, source.name))
    recording.save_provenance(Provenance(tracekit=version("tracekit"), created=now(), counters=""))
    with kept_unless_misused(recording), stage(recording, "import"):
        progress(f"copying {len(source.tables)} tables")
        _copy(source, recording)
        provenance = _provenance(recording.provenance(), toc, source)
        recording.save_provenance(_with_target(provenance, recording, target))
    return recording


def _bring_bundle(bundle: Path, output: Path | None, progress: Progress) -> Recording:
    recording = Recording(claim(output, bundle.stem))
    recording.save_provenance(Provenance(tracekit=version("tracekit"), created=now(), counters=""))
    with stage(recording, "import"):
        recording.bundle.symlink_to(bundle.resolve())
        warnings = choose("xctrace").export(recording, progress)
        source = Source(bundle.stem, recording.toc_file, ())
        provenance = _provenance(recording.provenance(), read_toc(recording.toc_file), source)
        recording.save_provenance(replace(provenance, warnings=provenance.warnings + warnings))
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
    names = (f"{stem}{suffix}.xml" for suffix in ("", *(f"-{n}" for n in range(2, 10_000))))
    return next(folder / name for name in names if not (folder / name).exists())


def _provenance(provenance: Provenance, toc: Toc | None, source: Source) -> Provenance:
    if toc is None:
        return replace(
            provenance,
            recorder="import",
            workload=source.name,
            warnings=("The exports came without a TOC: machine, times and target are not known.",),
        )
    run = toc.runs[0]
    several = (
        f"The TOC lists {len(toc.runs)} runs; machine and target are those of run {run.number}."
    )
    return replace(
        provenance,
        recorder="import",
        recorder_version=f"Instruments {run.instruments_version}".strip(),
        workload=source.name,
        targets=(run.target,) if run.target else (),
        templates=(run.template,) if run.template else (),
        started=run.start_date,
        ended=run.end_date,
        duration=run.duration,
        end_reason=run.end_reason,
        machine=_machine(run),
        warnings=((several,) if len(toc.runs) > 1 else ()) + toc.warnings,
    )


def _machine(run: TocRun) -> dict[str, str]:
    kept = {"model": "model", "platform": "system", "os-version": "release"}
    return {ours: run.device[theirs] for theirs, ours in kept.items() if run.device.get(theirs)}


def _with_target(provenance: Provenance, recording: Recording, target: str | None) -> Provenance:
    """Settle whose rows count: what the user says, the TOC, or the only process there is."""
    if target is None and provenance.targets:
        return provenance
    seen = processes(recording)
    if target is not None:
        return replace(provenance, targets=(_chosen(target, seen),))
    if len(seen) == 1:
        only = f"{seen[0].name} ({seen[0].pid}) is taken for the target: no other has rows."
        return replace(provenance, targets=seen, warnings=(*provenance.warnings, only))
    return replace(provenance, target_reason=UNKNOWN)


def processes(recording: Recording) -> tuple[Process, ...]:
    """Return the processes that the run's tables name, by pid."""
    tables = Tables(recording.exports, frozenset(), cache=recording.tables)
    named: dict[int, str] = {}
    for name in ("gpu_intervals", "encoders", "submissions", "driver_intervals"):
        for one in _each(tables, name):
            rows = one[["pid", "process"]].dropna().drop_duplicates()
            named |= dict(zip(rows["pid"].astype(int), rows["process"].astype(str), strict=True))
    return tuple(Process(pid, name) for pid, name in sorted(named.items()))


def _each(tables: Tables, name: str) -> Iterator[pd.DataFrame]:
    """Yield a table; where it is not clear which one is meant, each that may be."""
    places = [one.place for one in tables.repeated(name)]
    if name in tables and not places:
        yield tables[name]
    for place in places:
        yield tables.chosen(name, table=place.index, run=place.run)


def _chosen(target: str, seen: Sequence[Process]) -> Process:
    by_pid = [one for one in seen if str(one.pid) == target]
    found = by_pid or [one for one in seen if one.name == target]
    if len(found) != 1:
        known = ", ".join(f"{one.name} ({one.pid})" for one in seen) or "no process at all"
        raise UsageError(
            f"--target {target} names {len(found) or 'none'} of the processes in the tables.",
            hint=f"There are: {known}.",
        )
    return found[0]
