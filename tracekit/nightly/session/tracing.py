"""Traced captures of both variants, one after the other, by the whole pipeline.

Each runs as `tracekit capture` in its variant's own interpreter and folder, so that it is recorded,
exported and analyzed by the tracekit that the variant has, and can be ended when the night's time
is spent.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracekit.analysis import Result, load
from tracekit.base import InconclusiveError, Recording, ToolError, TracekitError, exit_words
from tracekit.machine import Watch
from tracekit.nightly.gate.judge import Quantity
from tracekit.nightly.history.night import Pair, Values
from tracekit.nightly.session.child import Prepared
from tracekit.nightly.session.measuring import traced_values
from tracekit.nightly.session.program import Program, last_words, run
from tracekit.nightly.session.variants import CodeVariant

_LIMIT = 3600.0  # seconds that one capture may take: saving and exporting can take many minutes


def trace(prepared: Prepared, *, session: int = 1, watch: Watch | None = None) -> Iterator[Pair]:
    """Trace as many pairs as the plan says; each one is whole when it comes.

    A trace without rows of its target says nothing of it, so its pair does not count, and says
    why. The arguments are those of `session.measuring.measure`; odd pairs go ab, even ones ba.
    """
    for number in range(1, prepared.capture.traced + 1):
        yield _pair(prepared, session, number, watch)


def arguments_of(prepared: Prepared, variant: CodeVariant, output: Path) -> tuple[str, ...]:
    """Return the command line that captures a variant into a folder."""
    capture = prepared.capture
    own = ("--workloads", str(variant.workloads)) if variant.workloads is not None else ()
    templates = [word for template in capture.templates for word in ("--template", template)]
    return (
        *(str(variant.python), "-P", "-m", "tracekit", "capture"),
        *("--workload", variant.workload, *own, "--recorder", capture.recorder, *templates),
        *("--counters", capture.counters, "--telemetry", capture.telemetry),
        *("--time-limit", f"{capture.time_limit:.3f}s", "--warmup", str(capture.warmup)),
        *("--output", str(output), *options(variant.parameters)),
    )


def options(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a workload's parameters as options; what is None is left to its default."""
    words: list[str] = []
    for name, value in parameters.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            several = value if isinstance(value, list | tuple) else (value,)
            words += [f"--{option}={item}" for item in several]
    return tuple(words)


def _pair(prepared: Prepared, session: int, number: int, watch: Watch | None) -> Pair:
    variants = prepared.variants if number % 2 else tuple(reversed(prepared.variants))
    values: dict[str, Values] = {}
    runs: dict[str, str] = {}
    reasons: list[str] = []
    before = watch.before() if watch is not None else None
    for variant in variants:
        name = f"{variant.role}-{session}-{number}"
        recording = Recording(prepared.own_folder / name)
        result, known = _capture(prepared, variant, recording)
        own = {metric.name: Quantity(metric.unit, metric.better.value) for metric in result.results}
        prepared.results |= own
        values[variant.role] = traced_values(result)
        runs[variant.role] = f"{prepared.capture.name}/{name}"
        if not known:
            reasons.append(f"The trace of the {variant.role} is not known to hold its work.")
    return Pair(
        session,
        number,
        order="".join("a" if side.role == "candidate" else "b" for side in variants),
        traced=True,
        candidate=values["candidate"],
        reference=values.get("reference", {}),
        before=before,
        after=watch.after() if watch is not None else None,
        contaminated=tuple(reasons),
        runs=tuple(runs[role] for role in ("candidate", "reference") if role in runs),
    )


def _capture(prepared: Prepared, variant: CodeVariant, recording: Recording) -> tuple[Result, bool]:
    """Capture a variant; return its result, and whether its work is known to be in the trace."""
    place = prepared.log_of(recording.folder.name)
    argv = arguments_of(prepared, variant, recording.folder.resolve())
    program = Program(argv, variant.env, variant.cwd, place, place.with_suffix(".out"))
    status = run(program, prepared.bounds, _LIMIT)
    if status not in {0, InconclusiveError.exit_code}:
        raise ToolError(
            f"The traced capture of {prepared.named(variant)} ended with {exit_words(status)}."
            f"{last_words(place)}",
            hint=f"What it kept is in {recording.folder}; the same line by hand: {program.line}",
        )
    try:
        return load(recording.result_file), status == 0
    except TracekitError as error:
        raise ToolError(
            f"The traced capture of {prepared.named(variant)} left no result that can be read: "
            f"{error.message}",
            hint=error.hint,
        ) from error
