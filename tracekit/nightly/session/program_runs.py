"""Programs as sides of a night: a run to the end, its numbers, and the numbers that decide."""

from dataclasses import replace

from tracekit.base import ToolError, processes, programs
from tracekit.nightly.history.night import Quantity, Values
from tracekit.nightly.plan.plan import Capture, Gated
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import Program, last_words, run_timed
from tracekit.nightly.session.variants import CodeVariant
from tracekit.record import patterns as record_patterns
from tracekit.record import throughput
from tracekit.workload import WALL_TIME

_LONGEST = 3600.0  # seconds of one run


def run_program(prepared: PreparedCapture, variant: CodeVariant) -> Values:
    """Run a side's program once; return the numbers that it prints, and its wall time.

    Raise ToolError if it fails or does not end, BudgetSpentError if the night's time is up.
    """
    bounds = prepared.bounds
    log = prepared.log_of(variant.role)
    output = log.with_suffix(".out")
    programs.require_program(variant.command[0], variant.env.get("PATH"))
    program = Program(variant.command, variant.env, variant.cwd, log, output)
    time_limit = bounds.cap(_LONGEST)
    program_run = run_timed(program, bounds.supervisor, time_limit)
    if program_run.status != 0:
        bounds.require_time(f"while {program.line} ran; it was ended")
        status_words = processes.exit_words(program_run.status)
        raise ToolError(
            f"{program.line} ended with {status_words}.{last_words(log, program_run.since)}",
            hint=f"Its output is in {log} and {output.name}.",
        )
    texts = [throughput.read_printed(output), throughput.read_printed(log, program_run.since)]
    patterns = [record_patterns.parse_pattern(words) for words in prepared.capture.read]
    values: Values = {}
    for name, result in throughput.read_texts(texts, patterns).items():
        if result.value is not None:
            values[name] = (float(result.value),)
            quantity = Quantity(result.unit, result.better)
            prepared.results[name] = quantity
    values.setdefault(WALL_TIME, (float(program_run.length),))
    prepared.results.setdefault(WALL_TIME, Quantity("ns", "lower"))
    return values


def with_program_metrics(prepared: PreparedCapture) -> Capture:
    """Return the capture with all numbers that its program prints as metrics.

    The metrics that the plan names decide. If it names none, all printed numbers with a good
    direction decide; if none is printed, the time of a run.
    """
    capture = prepared.capture
    planned_names = {metric.metric for metric in capture.metrics}
    deciding: set[str] = set()
    if capture.reference is not None and not any(metric.gate for metric in capture.metrics):
        deciding = _printed_with_direction(prepared) or {WALL_TIME}
    if deciding == {WALL_TIME}:
        prepared.remark(
            f"{capture.name} prints no number that tracekit reads, so the time of a run decides."
        )
    metrics = list(capture.metrics)
    for name in prepared.results:
        if name in planned_names:
            continue
        metrics.append(Gated(name, gate=name in deciding))
    return replace(capture, metrics=tuple(metrics))


def _printed_with_direction(prepared: PreparedCapture) -> set[str]:
    """Return the names of printed numbers of which one direction is good news."""
    names: set[str] = set()
    for name, quantity in prepared.results.items():
        if name != WALL_TIME and quantity.better != "neither":
            names.add(name)
    return names
