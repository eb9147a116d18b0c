"""Traced captures: each side records itself once, by the command line that a user would type."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tracekit.analysis import Result
from tracekit.base import (
    InconclusiveError,
    Recording,
    RecordingChoices,
    ToolError,
    TracekitError,
    processes,
)
from tracekit.machine import Watch
from tracekit.nightly.history.night import Pair, Quantity, Values
from tracekit.nightly.session.checks import TIME_LIMIT
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import Program, last_words, run
from tracekit.nightly.session.turn_values import traced_values
from tracekit.nightly.session.variants import CodeVariant


def trace(
    prepared: PreparedCapture, *, session: int = 1, watch: Watch | None = None
) -> Iterator[Pair]:
    """Trace as many pairs as the plan says, and yield each when it is complete.

    A pair does not count if one of its traces may lack the target's work; `rejections` names
    that trace. Odd pairs trace the candidate first, even pairs the reference. The arguments are
    those of `measure`.
    """
    for number in range(1, prepared.capture.traced + 1):
        yield _traced_pair(prepared, session, number, watch)


def arguments_of(prepared: PreparedCapture, variant: CodeVariant, output: Path) -> tuple[str, ...]:
    """Return the command line that captures a variant into a folder."""
    parameters = dict(variant.parameters)
    choices = replace(RecordingChoices.from_document(prepared.capture), parameters=parameters)
    words = [str(variant.python), "-P", "-m", "tracekit", "capture"]
    words += ["--workload", variant.workload]
    if variant.workloads is not None:
        words += ["--workloads", str(variant.workloads)]
    words += ["--output", str(output)]
    words += choices.arguments
    return tuple(words)


def _traced_pair(prepared: PreparedCapture, session: int, number: int, watch: Watch | None) -> Pair:
    variants = prepared.variants
    if number % 2 == 0:
        variants = tuple(reversed(variants))
    values: dict[str, Values] = {}
    runs: dict[str, str] = {}
    order = ""
    reasons: list[str] = []
    state_before = None
    if watch is not None:
        state_before = watch.before()
    for variant in variants:
        name = f"{variant.role}-{session}-{number}"
        recording = Recording(prepared.own_folder / name)
        recording, is_complete = _capture(prepared, variant, recording)
        result = Result.load(recording.result_file)
        for metric in result.results:
            prepared.results[metric.name] = Quantity(metric.unit, metric.better.value)
        values[variant.role] = traced_values(result)
        runs[variant.role] = f"{prepared.capture.name}/{recording.folder.name}"
        order += "a" if variant.role == "candidate" else "b"
        if recording.folder.name != name:
            reasons.append(f"The trace of the {variant.role} was recovered, incomplete.")
        elif not is_complete:
            reasons.append(f"The trace of the {variant.role} is not known to hold its work.")
    state_after = None
    if watch is not None:
        state_after = watch.after()
    existing_runs = tuple(runs[role] for role in ("candidate", "reference") if role in runs)
    return Pair(
        session,
        number,
        order,
        traced=True,
        candidate=values["candidate"],
        reference=values.get("reference", {}),
        before=state_before,
        after=state_after,
        rejections=tuple(reasons),
        runs=existing_runs,
    )


def _capture(
    prepared: PreparedCapture, variant: CodeVariant, recording: Recording
) -> tuple[Recording, bool]:
    """Capture a variant; return the run, and whether the trace holds the target's work.

    If the recorder was killed, the run is the one that was recovered of its raw data.
    """
    log = prepared.log_of(recording.folder.name)
    argv = arguments_of(prepared, variant, recording.folder.resolve())
    output = log.with_suffix(".out")
    program = Program(argv, variant.env, variant.cwd, log, output)
    status = run(program, prepared.bounds, TIME_LIMIT)
    name = prepared.name_variant(variant)
    if status not in {0, InconclusiveError.exit_code}:
        recovered = _recover(prepared, variant, recording)
        if recovered is not None:
            return recovered, False
        raise ToolError(
            f"The traced capture of {name} ended with "
            f"{processes.exit_words(status)}.{last_words(log)}",
            hint=f"Its files are in {recording.folder}; to repeat it by hand: {program.line}",
        )
    try:
        Result.load(recording.result_file)
    except TracekitError as error:
        raise ToolError(
            f"The traced capture of {name} left no result that can be read: {error.message}",
            hint=error.hint,
        ) from error
    return recording, status == 0


def _recover(
    prepared: PreparedCapture, variant: CodeVariant, recording: Recording
) -> Recording | None:
    """Recover a capture whose recorder was killed, and analyze it; None if that is impossible.

    `tracekit runs recover` refuses a bundle that was saved, and one without raw data.
    """
    if not recording.bundle.is_dir():
        return None
    recovered = Recording(recording.folder.with_name(f"{recording.folder.name}-recovered"))
    log = prepared.log_of(recovered.folder.name)
    # The reference may be an older tracekit: it knows `recover`, and this one knows it in 0.1.
    for words in (
        ("recover", str(recording.folder.resolve()), "--output", str(recovered.folder.resolve())),
        ("analyze", str(recovered.folder.resolve())),
    ):
        argv = (str(variant.python), "-P", "-m", "tracekit", *words)
        program = Program(argv, variant.env, variant.cwd, log, log.with_suffix(".out"))
        if run(program, prepared.bounds, TIME_LIMIT) not in {0, InconclusiveError.exit_code}:
            return None
    return recovered
