"""The stages, one function each: a stage reads what the one before left in the run's folder."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from tracekit import record as recorders
from tracekit.analysis import Result, Settings, load, redact_result, used_tables
from tracekit.analysis import analyze as judge
from tracekit.base import (
    Provenance,
    Recording,
    Redaction,
    Stage,
    ToolError,
    UsageError,
    find_shipped_folder,
    make_timestamp,
    own_redaction,
    resume,
    save,
    stage,
    system,
    write_whole,
)
from tracekit.machine import circumstances, describe, git_commit, merge_circumstances
from tracekit.record import export as export_or_read
from tracekit.report import PANELS, render
from tracekit.tables import (
    OPEN,
    SCHEMAS,
    Choice,
    Tables,
    find_recorded_run,
    first_sources,
    needed_schemas,
    read_toc,
    rows_of,
)
from tracekit.workload import Plan, check, claim_folder, kept_unless_misused, require_place

NEEDED, ALL = "needed", "all"
_LABELS = "object_labels"


def record(plan: Plan, progress: recorders.Progress = recorders.quiet) -> Recording:
    """Record what the plan says into a folder of its own.

    Raises:
        UsageError: The plan says nothing to record, or a parameter is wrong.
        ToolError: Nothing was recorded, or the workload died; what was measured is kept.
        InterruptedRunError: Someone asked to stop; what was recorded is kept.
    """
    system.require_processes("Recording")
    check(plan)
    patterns = [recorders.parse_pattern(words) for words in plan.patterns]
    require_place(plan)
    recorder = recorders.choose(plan.recorder, wanted_tables(NEEDED))
    provenance = _provenance(plan, recorder)
    plan, notes = recorders.resolve_plan(plan, provenance.capabilities)
    provenance = replace(provenance, warnings=(*provenance.warnings, *notes))
    recording = claim_folder(plan.output, plan.name, provenance)
    with kept_unless_misused(recording), stage(recording, "record"):
        recorders.save_patterns(recording.patterns_file, patterns)
        request = recorders.request_for(plan, recording, recorder)
        recorded = recorders.observe(recorder, request, recording, progress, plan.telemetry)
        recording.save_provenance(_with(recording.provenance(), recorded))
        _look_for_rows(recording)
        if recorded.interrupted:
            raise KeyboardInterrupt("recording was stopped early")
        if recorded.failure:
            raise ToolError(recorded.failure, hint=recorded.hint or resume(recording, "record"))
    return recording


def export(
    recording: Recording,
    progress: recorders.Progress = recorders.quiet,
    *,
    tables: str = NEEDED,
    xml: recorders.Xml = "asked",
) -> None:
    """Make the bundle's tables readable, and write the workload's own marks beside them.

    `tables` is a list with commas of needed, all, and names; see `wanted_tables`. `xml` says which
    of them are written as XML; see `tracekit.record.export`.
    """
    choose_schemas = wanted_tables(tables)
    recorder = recorders.recorder_for(recording, choose_schemas)
    with stage(recording, "export"):
        if isinstance(recorder, recorders.XctraceRecorder):
            warn(recording, export_or_read(recorder, recording, choose_schemas, progress, xml=xml))
        else:
            warn(recording, recorder.export(recording, progress))
        _complete(recording)
        _look_for_rows(recording)
        warn(recording, recorders.export_workload_events(recording))


def analyze(
    recording: Recording,
    progress: recorders.Progress = recorders.quiet,
    *,
    settings: Settings | None = None,
    redacted: bool = True,
) -> Result:
    """Measure and judge the tables; write `result.json`."""
    with stage(recording, "analyze"):
        recorders.require_timing(recording)
        recorders.require_exports(recording)
        provenance = recording.provenance()
        tables = tables_of(recording)
        progress("measuring and judging")
        result = judge(tables, provenance, settings)
        warnings = tuple(dict.fromkeys((*provenance.warnings, *tables.warnings)))
        stages = {**provenance.stages, "analyze": Stage("done", make_timestamp())}
        provenance = replace(provenance, warnings=warnings, stages=stages)
        result = replace(
            result, provenance=provenance, losses=(*rows_of(tables.losses), *result.losses)
        )
        if redacted:
            result = redact_result(result, redaction_of(recording))
        save(recording.result_file, result)
    return result


def report(
    recording: Recording, progress: recorders.Progress = recorders.quiet, *, redacted: bool = True
) -> Path:
    """Write the page of the run's result."""
    with stage(recording, "report"):
        result = load(recording.result_file)
        redact = redaction_of(recording)
        if redacted and not result.provenance.redacted:
            result = redact_result(result, redact)
        progress("drawing the page")
        page = render(result, tables_of(recording), redact=redact if redacted else str)
        write_whole(recording.report_file, page.encode())
    return recording.report_file


def import_(
    paths: Sequence[Path],
    output: Path | None = None,
    target: str | None = None,
    progress: recorders.Progress = recorders.quiet,
    run: int | None = None,
) -> list[Recording]:
    """Make a run's folder of each recording that someone else made."""
    return recorders.bring(
        paths, output, target, progress, run, choose_schemas=wanted_tables(NEEDED)
    )


def needed_tables() -> frozenset[str]:
    """Return the tables that metrics, rules and panels make use of."""
    names = used_tables().union(*(panel.reads for panel in PANELS))
    return frozenset(names & set(SCHEMAS))


def wanted_tables(words: str) -> recorders.Choose:
    """Return which schemas of a trace are to be exported, by a list with commas.

    `needed` stands for what metrics, rules and panels make use of, `all` for everything that
    was recorded. Other words are tables of ours, or schemas of Apple's; the schemas of a table
    that was not recorded are chosen nevertheless, so that someone says that they are missing. A
    word that can be neither is a UsageError.
    """
    names = [part.strip() for part in words.split(",") if part.strip()]
    schemas = frozenset(name for name in names if name not in {NEEDED, ALL, *SCHEMAS})
    strange = sorted(name for name in schemas if "_" in name) or ([] if names else [words])
    if strange:
        near = difflib.get_close_matches(strange[0], [NEEDED, ALL, *SCHEMAS])
        raise UsageError(
            f"There is no table {strange[0]!r} to export.",
            hint=f"Near are {', '.join(near)}." if near else "Use needed, all or names of tables.",
        )
    tables = [name for name in names if name in SCHEMAS]
    # Labels of objects only add names to joins, and have more rows than the device has work.
    spared = frozenset[str]() if _LABELS in needed_tables() else first_sources(_LABELS)

    def choose_from(there: frozenset[str]) -> frozenset[str]:
        chosen = there if ALL in names else frozenset[str]()
        if NEEDED in names:
            chosen |= needed_schemas(needed_tables(), there) - spared
        for name in tables:
            chosen |= needed_schemas([name], there) or first_sources(name)
        return chosen | schemas

    return choose_from


def tables_of(recording: Recording, choice: Choice = OPEN) -> Tables:
    """Return the normalized tables of the run, or of `choice` one of its trace, with its target."""
    run, targets = recorders.run_and_targets(recording, choice.run)
    return Tables(recording.exports, targets, recording.tables, replace(choice, run=run))


def redaction_of(recording: Recording) -> Redaction:
    """Return the redaction of this machine's names and of those in the recording's TOC."""
    private: list[tuple[str, str]] = []
    if recording.toc_file.exists():
        for run in read_toc(recording.toc_file).runs:
            private.append((run.device.get("name", ""), "<device>"))
            private.append((run.device.get("uuid", ""), "<uuid>"))
    return own_redaction(private)


def warn(recording: Recording, warnings: Sequence[str]) -> None:
    """Add warnings to `recording.json`, each one once."""
    provenance = recording.provenance()
    all_warnings = tuple(dict.fromkeys((*provenance.warnings, *warnings)))
    recording.save_provenance(replace(provenance, warnings=all_warnings))


def _complete(recording: Recording) -> None:
    """Take from the TOC what a recording that was cut short could not say of itself."""
    provenance, run = recording.provenance(), find_recorded_run(recording)
    if run is None:
        return
    again = recording.bundle.exists() or not provenance.clock
    clock = recorders.trace_clock(recording, run) if again else provenance.clock
    recording.save_provenance(
        replace(
            provenance,
            targets=provenance.targets or ((run.target,) if run.target else ()),
            clock=clock,
            started=provenance.started or run.start_date,
            ended=provenance.ended or run.end_date,
            duration=provenance.duration or run.duration,
            end_reason=provenance.end_reason or run.end_reason,
        )
    )


def _look_for_rows(recording: Recording) -> None:
    """Note whether there is GPU work of the targets; say so loudly if there is none."""
    if not recording.bundle.exists():
        return
    provenance = recording.provenance()
    has_target_rows, warnings = recorders.rows_of_target(
        recording, [target.pid for target in provenance.targets]
    )
    recording.save_provenance(replace(provenance, target_rows=has_target_rows))
    warn(recording, warnings)


def _seconds_between(started: str, end_date: str) -> float | None:
    try:
        return (datetime.fromisoformat(end_date) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return None


def _provenance(plan: Plan, recorder: recorders.Recorder) -> Provenance:
    folder = plan.workload.file.parent if plan.workload else None
    return Provenance(
        tracekit=version("tracekit"),
        created=make_timestamp(),
        recorder=recorder.name,
        recorder_version=recorder.version(),
        workload=plan.workload.name if plan.workload else "",
        workloads=""
        if folder is None or folder == find_shipped_folder("workloads")
        else str(folder),
        parameters=dict(plan.parameters),
        command=plan.command,
        templates=plan.templates if recorder.name == "xctrace" else (),
        method=plan.method,
        counters=plan.counters,
        telemetry=plan.telemetry,
        time_limit=plan.time_limit,
        warmup=plan.warmup if plan.workload else None,
        repeats=plan.repeats,
        machine=describe() | circumstances(),
        capabilities=recorders.known_of(recorder),
        git_commit=git_commit(Path.cwd()),
        warnings=recorders.find_ignored_options(plan, recorder),
    )


def _with(provenance: Provenance, recorded: recorders.FinishedRecording) -> Provenance:
    return replace(
        provenance,
        targets=recorded.targets,
        command_lines=recorded.command_lines,
        started=recorded.started,
        ended=recorded.end_date,
        duration=_seconds_between(recorded.started, recorded.end_date),
        end_reason=recorded.end_reason,
        clock=dict(recorded.clock),
        overhead=recorded.overhead,
        machine=provenance.machine | merge_circumstances(provenance.machine, circumstances()),
        warnings=tuple(dict.fromkeys((*provenance.warnings, *recorded.warnings))),
    )
