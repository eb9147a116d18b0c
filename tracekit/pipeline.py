"""The stages, one function each: a stage reads the files of the one before in the run's folder.

A stage uses the other rooms by their faces, so that it imports those parts alone that it needs.
"""

import logging
import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tracekit import analysis, pages
from tracekit import machine as machine_room
from tracekit import record as record_room
from tracekit import tables as tables_room
from tracekit import workload as workload_room
from tracekit.base import (
    InconclusiveError,
    Provenance,
    Recording,
    RecordingChoices,
    ToolError,
    TracekitError,
    UsageError,
    documents,
    files,
    find_similar,
    make_timestamp,
    own_version,
    redaction,
    stages,
    system,
)
from tracekit.record import Progress, quiet
from tracekit.tables import losses as tables_losses

if TYPE_CHECKING:
    from tracekit.analysis import Result, Settings
    from tracekit.record import Choose, FinishedRecording, Recorder
    from tracekit.tables import Choice, Tables
    from tracekit.workload import Plan

_log = logging.getLogger(__name__)
NEEDED = "needed"
ALL = "all"
_LABELS = "object_labels"


ShowStage = Callable[[str], AbstractContextManager[Progress]]
"""A function that shows a stage, by its name, while it runs, and gives it its progress."""


@contextmanager
def show_nothing(_: str) -> Generator[Progress]:
    """Show nothing of a stage."""
    yield quiet


def capture(
    plan: "Plan",
    show_stage: ShowStage = show_nothing,
    *,
    tables: str = NEEDED,
    xml: "record_room.direct_reading.Xml" = "asked",
    redacted: bool = True,
) -> "tuple[Recording, Result]":
    """Record, export, analyze and report; the arguments and errors are those of the stages."""
    with show_stage("record") as progress:
        recording = record(plan, progress)
    with show_stage("export") as progress:
        export(recording, progress, tables=tables, xml=xml)
    with show_stage("analyze") as progress:
        key = _make_result_key(recording, redacted=redacted)
        result, run_tables = _analyze(recording, progress, None, key, redacted=redacted)
    with show_stage("report") as progress:
        report(recording, progress, tables=run_tables, redacted=redacted)
    return recording, result


def check(plan: "Plan") -> None:
    """Raise UsageError for a plan that cannot be recorded; nothing is started or written."""
    system.require_processes("Recording")
    workload_room.plan.check(plan)
    for words in plan.patterns:
        record_room.patterns.parse_pattern(words)
    workload_room.plan.require_place(plan)
    if plan.attach is not None:
        record_room.recorders.require_process(plan.attach)


def record(plan: "Plan", progress: Progress = quiet) -> Recording:
    """Record the plan's workload or process into a new folder.

    Raises:
        UsageError: The plan has nothing to record, or a parameter is wrong.
        ToolError: Nothing was recorded, or the workload died; its measurements are kept.
        InterruptedRunError: The user stopped it; the recording so far is kept.
    """
    check(plan)
    parsed_patterns = [record_room.patterns.parse_pattern(words) for words in plan.patterns]
    recorder = record_room.recorders.choose(plan.recorder, wanted_tables(NEEDED))
    provenance = _provenance(plan, recorder)
    plan, notes, is_way_open = record_room.choose_way(plan, recorder, provenance.capabilities)
    warnings = (*provenance.warnings, *notes)
    provenance = replace(provenance, warnings=warnings)
    recording = workload_room.plan.claim_folder(plan.output, plan.name, provenance)
    with workload_room.plan.kept_unless_misused(recording), stages.running(recording, "record"):
        record_room.patterns.save_patterns(recording.patterns_file, parsed_patterns)
        recorded = record_room.record_plan(
            plan, recorder, recording, progress, is_way_open=is_way_open
        )
        recording.save_provenance(_with(recording.provenance(), recorded))
        _note_virtual_device(recording)
        _look_for_rows(recording)
        if recorded.interrupted:
            raise KeyboardInterrupt("recording was stopped early")
        if recorded.failure:
            hint = recorded.hint or stages.resume(recording, "record")
            if recorded.has_crashed and plan.command:
                search = f"tracekit doctor --symptom crash -- {shlex.join(plan.command)}"
                hint = f"`{search}` looks for the cause. {hint}"
            raise ToolError(recorded.failure, hint=hint)
    return recording


def export(
    recording: Recording,
    progress: Progress = quiet,
    *,
    tables: str = NEEDED,
    xml: "record_room.direct_reading.Xml" = "asked",
) -> None:
    """Make the bundle's tables readable, and write the workload's own marks next to them.

    `tables` is a comma-separated list of needed, all, and names; see `wanted_tables`. `xml` chooses
    the tables that are written as XML; see `tracekit.record.export`.
    """
    choose_schemas = wanted_tables(tables)
    recorder = record_room.recorders.recorder_for(recording, choose_schemas)
    with stages.running(recording, "export"):
        if isinstance(recorder, record_room.XctraceRecorder):
            warnings = record_room.direct_reading.export(
                recorder, recording, choose_schemas, progress, xml=xml
            )
        else:
            warnings = recorder.export(recording, progress)
        warn(recording, warnings)
        _complete(recording)
        _look_for_rows(recording)
        warn(recording, record_room.event_export.export_workload_events(recording))


def analyze(
    recording: Recording,
    progress: Progress = quiet,
    *,
    settings: "Settings | None" = None,
    redacted: bool = True,
) -> "Result":
    """Measure and judge the tables; write `result.json`.

    A result that was made of the same files, by the same code, is not made again.
    """
    key = ""
    if settings is None:
        key = _make_result_key(recording, redacted=redacted)
        kept_result = _find_kept_result(recording, key)
        if kept_result is not None:
            return kept_result
    result, _ = _analyze(recording, progress, settings, key, redacted=redacted)
    return result


@dataclass(frozen=True)
class _ResultNote:
    """The run that `result.json` was made of, and the digest of that file.

    `key` has the stamps of the run's files and all else that the result is made of; "" if one was
    so young that a change might not alter its stamp. `contents` is the digest of the files that
    tables are read from. `reported` are the losses that were reported while it was made.
    """

    key: str
    digest: str = ""
    reported: tables_losses.ReportedLosses = field(default_factory=tables_losses.ReportedLosses)
    contents: str = ""
    format: int = 1


def _make_result_key(recording: Recording, *, redacted: bool) -> str:
    """Return the key of all that a result is made of; "" if a change might not alter it."""
    provenance = recording.provenance()
    stages_before = dict(provenance.stages)
    for name in ("analyze", "report"):
        stages_before.pop(name, None)
    private_names = redaction.own_redaction()
    facts = documents.encode_json((replace(provenance, stages=stages_before), private_names))
    ignored = tables_room.run_keys.RESULTS | {
        recording.provenance_file.name,
        recording.checksums_file.name,
    }
    return tables_room.run_keys.make_run_key(
        recording.folder.absolute(), f"{facts.decode()} {redacted}", ignored=ignored
    )


def _find_kept_result(recording: Recording, key: str) -> "Result | None":
    """Return the result of a run if it was made with this key, and has not been changed since."""
    note = _read_note(recording)
    if note is None or not key or note.key != key or not _is_as_written(recording, note):
        return None
    note.reported.report()
    return analysis.Result.load(recording.result_file)


def load_result(recording: Recording) -> "Result":
    """Return the result that a run has; report a loss unless it was made of the run's files.

    Its losses and warnings then say so, too. Raise RecordingError if there is none, and InputError
    if it cannot be read.
    """
    result = analysis.Result.load(recording.result_file)
    doubt = doubt_result(recording, result)
    if not doubt:
        return result
    loss = tables_losses.Loss(tables_losses.Flaw.UNSURE, doubt)
    tables_losses.report([loss])
    warnings = (*result.provenance.warnings, doubt)
    provenance = replace(result.provenance, warnings=warnings)
    losses = (*result.losses, *tables_losses.rows_of([loss]))
    return replace(result, provenance=provenance, losses=losses)


def doubt_result(recording: Recording, result: "Result") -> str:
    """Return why the result that a run has may not be that of its files; "" if it is.

    If files that it was made of were pruned, or their bundle is gone, it is that which was written.
    """
    name = Path(recording.folder.resolve().name)  # pages show it, and no path of a user
    file = name / recording.result_file.name
    note = _read_note(recording)
    if note is None:
        reason = f"Nothing shows that {file} was made of the files of its run"
    elif not _is_as_written(recording, note):
        reason = f"{file} was changed since the analysis wrote it"
    elif lacks_sources(recording) or _is_of_these_files(recording, result, note):
        return ""
    else:
        reason = f"{file} is older than the files of its run"
    if lacks_sources(recording):
        return f"{reason}, which cannot be analyzed again."
    return f"{reason}; `tracekit analyze {files.quote_path(name)}` makes it again."


def lacks_sources(recording: Recording) -> bool:
    """Tell whether files that a run was analyzed from are gone."""
    return tables_room.run_keys.lacks_sources(recording.folder)


def _read_note(recording: Recording) -> _ResultNote | None:
    try:
        return documents.decode_json(files.read_input(_find_note(recording)), _ResultNote)
    except (OSError, TracekitError, msgspec.MsgspecError):
        return None


def _is_as_written(recording: Recording, note: _ResultNote) -> bool:
    try:
        return note.digest == _digest(files.read_input(recording.result_file))
    except (OSError, TracekitError):
        return False


def _is_of_these_files(recording: Recording, result: "Result", note: _ResultNote) -> bool:
    """Tell whether a result was made of a run's files: by their stamps, or else their content."""
    key = _make_result_key(recording, redacted=result.provenance.redacted)
    if note.key and note.key == key:
        return True
    return bool(note.contents) and note.contents == _digest_inputs(recording)


def _digest_inputs(recording: Recording) -> str:
    """Return the digest of the content that a result is made of; "" if it cannot be read."""
    try:
        content = files.read_input(recording.provenance_file)
        origin = documents.decode_json(content, dict[str, Any])
        origin.pop("stages", None)
        facts = documents.encode_json(origin).decode()
        return tables_room.run_keys.digest_contents(recording.folder, facts)
    except (OSError, TracekitError, msgspec.MsgspecError):
        return ""


def _keep_result(
    recording: Recording, note: _ResultNote, result: "Result", ledger: "tables_losses.Ledger"
) -> None:
    """Note the inputs of a result that was just written.

    It is made again the next time if a check failed, perhaps by accident.
    """
    statuses = {check.status for check in result.checks}
    if analysis.Status.FAILED in statuses:
        note = replace(note, key="")
    try:
        digest = _digest(files.read_input(recording.result_file))
        whole_note = replace(note, digest=digest, reported=ledger.reported)
        documents.save(_find_note(recording), whole_note)
    except (OSError, TracekitError) as error:
        _log.info("The result of %s is made again the next time: %s", recording.folder, error)


def _find_note(recording: Recording) -> Path:
    return recording.tables / tables_room.run_keys.RESULT_NOTE


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def examine(
    recording: Recording, *, redacted: bool = True, keep: bool = False
) -> "tuple[Result, Tables]":
    """Return the result of a run and its tables; write nothing into its folder but kept tables.

    A result that `analyze` would not make again is read. Without `keep`, no tables are kept.
    """
    if _find_note(recording).exists():
        key = _make_result_key(recording, redacted=redacted)
        kept_result = _find_kept_result(recording, key)
        if kept_result is not None:
            return kept_result, tables_of(recording, keep=keep)
    return _measure(recording, quiet, None, redacted=redacted, keep=keep)


def _analyze(
    recording: Recording,
    progress: Progress,
    settings: "Settings | None",
    key: str,
    *,
    redacted: bool,
) -> "tuple[Result, Tables]":
    """Make the result of a run that has this key; "" if it is not to be noted."""
    with stages.running(recording, "analyze"), tables_losses.overhearing() as ledger:
        contents = _digest_inputs(recording)
        result, tables = _measure(recording, progress, settings, redacted=redacted)
        documents.save(recording.result_file, result)
        _keep_result(recording, _ResultNote(key, contents=contents), result, ledger)
    return result, tables


def _measure(
    recording: Recording,
    progress: Progress,
    settings: "Settings | None",
    *,
    redacted: bool,
    keep: bool = True,
) -> "tuple[Result, Tables]":
    record_room.requirements.require_timing(recording)
    record_room.requirements.require_exports(recording)
    provenance = recording.provenance()
    tables = tables_of(recording, keep=keep, is_lean=True)
    progress("measuring and judging")
    result = analysis.analyze(tables, provenance, settings)
    all_warnings = (*provenance.warnings, *tables.warnings)
    warnings = tuple(dict.fromkeys(all_warnings))
    provenance = replace(provenance, warnings=warnings).note_stage("analyze", "done")
    losses = (*tables_losses.rows_of(tables.losses), *result.losses)
    result = replace(result, provenance=provenance, losses=losses)
    if redacted:
        result = result.redact(redaction_of(recording))
    return result, tables


def analyze_and_report(
    recording: Recording, progress: Progress = quiet, *, redacted: bool = True
) -> Path:
    """Write the result and the page of a run, for both of which its tables are read once.

    A result that is there stays if it was made of the same files, by the same code; or if files
    that it was made of are gone.
    """
    if recording.result_file.exists():
        is_redacted = analysis.Result.load(recording.result_file).provenance.redacted
        kept_key = _make_result_key(recording, redacted=is_redacted)
        if lacks_sources(recording) or _find_kept_result(recording, kept_key) is not None:
            return report(recording, progress, redacted=redacted)
    key = _make_result_key(recording, redacted=redacted)
    _, tables = _analyze(recording, progress, None, key, redacted=redacted)
    return report(recording, progress, tables=tables, redacted=redacted)


def report(
    recording: Recording,
    progress: Progress = quiet,
    *,
    tables: "Tables | None" = None,
    redacted: bool = True,
    place: Path | None = None,
) -> Path:
    """Write the page of the run's result, and return its path.

    `tables` are those that the result was just made of, if they are open. The page goes into the
    run, or to another `place`; then nothing is written into the run.
    """
    if place is not None:
        page = _draw_page(recording, progress, tables, redacted=redacted)
        files.write_whole(place, page)
        return place
    with stages.running(recording, "report"):
        page = _draw_page(recording, progress, tables, redacted=redacted)
        files.write_whole(recording.report_file, page)
    return recording.report_file


def _draw_page(
    recording: Recording, progress: Progress, tables: "Tables | None", *, redacted: bool
) -> bytes:
    if tables is None:
        result = load_result(recording)
        tables = tables_of(recording, is_lean=True)
    else:
        result = analysis.Result.load(recording.result_file)
    progress("drawing the page")
    return draw_page(recording, result, tables, redacted=redacted)


def draw_page(
    recording: Recording, result: "Result", run_tables: "Tables", *, redacted: bool = True
) -> bytes:
    """Return the page of a run's result and tables."""
    redact: Callable[[str], str] = str
    if redacted:
        redact = redaction_of(recording)
        if not result.provenance.redacted:
            result = result.redact(redact)
    _make_joined_tables(run_tables)
    return pages.render(result, run_tables, redact=redact).encode()


def _make_joined_tables(run_tables: "Tables") -> None:
    """Make the joined tables that panels read, before other frames than theirs are held."""
    for name in sorted(needed_tables()):
        if tables_room.SCHEMAS[name].join is not None and name in run_tables:
            with suppress(TracekitError):  # which the panel reports
                run_tables.outline(name)


_HAS_ROWS = "capture-empty"
"""The rule that judges whether a recording has its target's work."""


def require_rows(result: "Result") -> None:
    """Raise InconclusiveError unless a recording of xctrace certainly has its target's work."""
    check = next(check for check in result.checks if check.rule == _HAS_ROWS)
    if check.status is analysis.Status.FOUND:
        message = next(finding.message for finding in result.findings if finding.rule == _HAS_ROWS)
        raise InconclusiveError(message, hint=f"`tracekit list rules {_HAS_ROWS}` explains it.")
    if check.status is not analysis.Status.PASSED and result.provenance.recorder == "xctrace":
        raise InconclusiveError(
            f"Whether the target's work was recorded cannot be said: {check.reason}",
            hint="The warnings say why; `tracekit export` can be run again.",
        )


def require_target_rows(recording: Recording) -> None:
    """Raise InconclusiveError if a recording certainly lacks its target's work.

    If that is not certain, nothing is raised: the analysis looks closer.
    """
    provenance = recording.provenance()
    if provenance.target_rows is False:
        numbers = ", ".join(str(target.pid) for target in provenance.targets)
        raise InconclusiveError(
            f"No GPU work of the target (process {numbers}) was recorded; the trace is kept.",
            hint="See whether the target was awake and used Metal; "
            f"`tracekit list rules {_HAS_ROWS}` says more.",
        )


def import_(
    paths: Sequence[Path],
    output: Path | None = None,
    target: str | None = None,
    progress: Progress = quiet,
    run: int | None = None,
    *,
    include: Sequence[str] = (),
    in_place: bool = False,
) -> list[Recording]:
    """Make a run's folder of each recording that was made without tracekit.

    `include` names the private parts of GPU frame captures that become tables. With `in_place`, the
    run has links to exports instead of copies; see `record.imports.bring`.
    """
    return record_room.imports.bring(
        paths,
        output,
        target,
        progress,
        run,
        choose_schemas=wanted_tables(NEEDED),
        include=include,
        in_place=in_place,
    )


def recover(
    source: Path,
    output: Path | None = None,
    progress: Progress = quiet,
    *,
    template: str | None = None,
    seconds: float | None = None,
) -> Recording:
    """Make a new run of the raw data in a bundle that was never saved; see `record.recover`."""
    recording = record_room.recover(
        source,
        output,
        progress,
        template=template,
        seconds=seconds,
        choose_schemas=wanted_tables(NEEDED),
    )
    if recording.provenance().recorder == "xctrace":
        export(recording, progress, xml="unchecked")
    return recording


def needed_tables() -> frozenset[str]:
    """Return the tables that metrics, rules and panels read."""
    names = set(analysis.used_tables())
    for panel in pages.PANELS:
        names.update(panel.reads)
    return frozenset(names & set(tables_room.SCHEMAS))


def wanted_tables(words: str) -> "Choose":
    """Return a function that chooses the schemas of a trace to export, by a comma-separated list.

    `needed` means the tables that metrics, rules and panels read, `all` everything that was
    recorded. Other words are tables of ours, or schemas of Apple's; the schemas of a table
    that was not recorded are chosen nevertheless, so that they are reported as missing. A word
    that can be neither is a UsageError.
    """
    names = [part.strip() for part in words.split(",") if part.strip()]
    if not names:
        raise _no_table(words)
    schemas = frozenset(names) - {NEEDED, ALL, *tables_room.SCHEMAS}
    for schema in sorted(schemas):
        if "_" in schema:  # no schema of Apple's has one
            raise _no_table(schema)
    tables = [name for name in names if name in tables_room.SCHEMAS]
    spared_schemas = _schemas_to_spare()

    def choose_from(there: frozenset[str]) -> frozenset[str]:
        chosen = schemas
        if ALL in names:
            chosen |= there
        if NEEDED in names:
            chosen |= tables_room.schemas.needed_schemas(needed_tables(), there) - spared_schemas
        for name in tables:
            chosen |= tables_room.schemas.needed_schemas(
                [name], there
            ) or tables_room.schemas.first_sources(name)
        return chosen

    return choose_from


def _no_table(name: str) -> UsageError:
    hint = "Use needed, all or names of tables."
    near = find_similar(name, [NEEDED, ALL, *tables_room.SCHEMAS])
    if near:
        hint = f"Near are {', '.join(near)}."
    return UsageError(f"There is no table {name!r} to export.", hint=hint)


def _schemas_to_spare() -> frozenset[str]:
    """Return the schemas of object labels, unless a metric, rule or panel reads them.

    Labels only add names to joins, and have more rows than the device has work.
    """
    if _LABELS in needed_tables():
        return frozenset()
    return tables_room.schemas.first_sources(_LABELS)


def tables_of(
    recording: Recording,
    choice: "Choice | None" = None,
    *,
    keep: bool = True,
    is_lean: bool = False,
) -> "Tables":
    """Return the normalized tables of the run, or of the chosen run of its trace.

    Those that are read are kept in the run's folder, unless `keep` is false. Frames that are lean
    lack columns that the analysis does not read.
    """
    choice = choice or tables_room.Choice()
    run, targets = record_room.requirements.run_and_targets(recording, choice.run)
    choice_of_run = replace(choice, run=run)
    cache = None
    if keep:
        cache = recording.tables
    return tables_room.Tables(recording.exports, targets, cache, choice_of_run, is_lean=is_lean)


def redaction_of(recording: Recording) -> redaction.Redaction:
    """Return the redaction of this machine's names and of those in the recording's TOC."""
    private: list[tuple[str, str]] = []
    if recording.toc_file.exists():
        for run in tables_room.toc.read_toc(recording.toc_file).runs:
            private.append((run.device.get("name", ""), "<device>"))
            private.append((run.device.get("uuid", ""), "<uuid>"))
    return redaction.own_redaction(private)


def warn(recording: Recording, warnings: Sequence[str]) -> None:
    """Add warnings to `recording.json`, each one once."""
    provenance = recording.provenance()
    joined_warnings = (*provenance.warnings, *warnings)
    all_warnings = tuple(dict.fromkeys(joined_warnings))
    recording.save_provenance(replace(provenance, warnings=all_warnings))


def _complete(recording: Recording) -> None:
    """Complete the provenance of a recording that was cut short from its TOC."""
    run = tables_room.toc.find_recorded_run(recording)
    if run is None:
        return
    provenance = recording.provenance()
    clock = provenance.clock
    if recording.bundle.exists() or not clock:
        clock = record_room.event_export.trace_clock(recording, run)
    targets = provenance.targets
    if run.target and not targets:
        targets = (run.target,)
    recording.save_provenance(
        replace(
            provenance,
            targets=targets,
            clock=clock,
            started=provenance.started or run.start_date,
            ended=provenance.ended or run.end_date,
            duration=provenance.duration or run.duration,
            end_reason=provenance.end_reason or run.end_reason,
        )
    )


def _note_virtual_device(recording: Recording) -> None:
    """Note that the machine is virtual if the GPU of its workload is, and warn of it."""
    report = workload_room.journal.fold(recording.journal_file)
    device_name = str(report.device.get("device_name", ""))
    if report.backend != "metal" or not machine_room.chips.is_virtual_device(device_name):
        return
    provenance = recording.provenance()
    machine = provenance.machine | {"virtual": True}
    recording.save_provenance(replace(provenance, machine=machine))
    warn(recording, (machine_room.chips.VIRTUAL_GPU,))


def _look_for_rows(recording: Recording) -> None:
    """Note whether there is GPU work of the targets; add a warning if there is none."""
    if not recording.bundle.exists():
        return
    provenance = recording.provenance()
    pids = [target.pid for target in provenance.targets]
    has_target_rows, warnings = record_room.rows_of_target(recording, pids)
    recording.save_provenance(replace(provenance, target_rows=has_target_rows))
    warn(recording, warnings)


_SET_BACK = "The clock was set back during the recording, so its duration is not available."


def _seconds_between(started: str, end_date: str) -> float | None:
    """Return the seconds between two dates; below 0 if the clock was set back meanwhile."""
    try:
        lasted = datetime.fromisoformat(end_date) - datetime.fromisoformat(started)
    except (ValueError, TypeError):
        return None
    return lasted.total_seconds()


def _provenance(plan: "Plan", recorder: "Recorder") -> Provenance:
    """Return the provenance of a recording that is about to begin.

    It has the plan's choices that the target and the recorder can follow.
    """
    choices = replace(
        RecordingChoices.from_document(plan), recorder=recorder.name
    ).leave_out_unfollowed()
    if plan.workload is None:
        choices = replace(choices, warmup=None)
    machine = machine_room.describe() | machine_room.circumstances()
    warnings = record_room.find_ignored_options(plan, recorder)
    if machine.get("virtual"):
        warnings = (*warnings, machine_room.chips.VIRTUAL_GPU)
    provenance = Provenance(
        **choices.share_with(Provenance),
        tracekit=own_version(),
        created=make_timestamp(),
        recorder_version=recorder.version(),
        machine=machine,
        capabilities=record_room.known_of(recorder),
        git_commit=machine_room.git_commit(Path.cwd()),
        warnings=warnings,
    )
    if plan.workload is None:
        return provenance
    folder = plan.workload.file.parent
    own_folder = ""
    if folder != files.find_shipped_folder("workloads"):
        own_folder = str(folder)
    return replace(provenance, workload=plan.workload.name, workloads=own_folder)


def _with(provenance: Provenance, recorded: "FinishedRecording") -> Provenance:
    changes = machine_room.merge_circumstances(provenance.machine, machine_room.circumstances())
    machine = provenance.machine | changes
    duration = recorded.duration
    if duration is None:
        duration = _seconds_between(recorded.started, recorded.end_date)
    joined_warnings = [*provenance.warnings, *recorded.warnings]
    if duration is not None and duration < 0:
        duration = None
        joined_warnings.append(_SET_BACK)
    warnings = tuple(dict.fromkeys(joined_warnings))
    clock = dict(recorded.clock)
    return replace(
        provenance,
        targets=recorded.targets,
        command_lines=recorded.command_lines,
        started=recorded.started,
        ended=recorded.end_date,
        duration=duration,
        end_reason=recorded.end_reason,
        used=recorded.used,
        clock=clock,
        overhead=recorded.overhead,
        machine=machine,
        warnings=warnings,
    )
