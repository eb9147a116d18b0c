"""Programs as sides of a night: run to their end, read, and what decides of what they print."""

from dataclasses import replace

from tracekit.base import ToolError, exit_words, require_program
from tracekit.nightly.gate.judge import Quantity
from tracekit.nightly.history.night import Values
from tracekit.nightly.plan.plan import Capture, Gated
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import Program, last_words, run_timed
from tracekit.nightly.session.variants import CodeVariant
from tracekit.record import parse_pattern, read_printed, read_texts
from tracekit.workload import WALL_TIME

_LONGEST = 3600.0  # seconds of one run


def run_program(prepared: PreparedCapture, variant: CodeVariant) -> Values:
    """Run a side's program once; return what it prints of its speed, and how long it took.

    Raise ToolError where it fails or does not end, BudgetSpentError where the night's time is up.
    """
    log = prepared.log_of(variant.role)
    output = log.with_suffix(".out")
    require_program(variant.command[0], variant.env.get("PATH"))
    program = Program(variant.command, variant.env, variant.cwd, log, output)
    program_run = run_timed(program, prepared.bounds.supervisor, prepared.bounds.cap(_LONGEST))
    if program_run.status != 0:
        prepared.bounds.require_time(f"while {program.line} ran; it was ended")
        raise ToolError(
            f"{program.line} ended with "
            f"{exit_words(program_run.status)}.{last_words(log, program_run.since)}",
            hint=f"What it said is in {log} and {output.name}.",
        )
    texts = [read_printed(output), read_printed(log, program_run.since)]
    results = read_texts(texts, [parse_pattern(words) for words in prepared.capture.read])
    values: Values = {}
    for name, result in results.items():
        if result.value is not None:
            values[name] = (float(result.value),)
            prepared.results[name] = Quantity(result.unit, result.better)
    values.setdefault(WALL_TIME, (float(program_run.length),))
    prepared.results.setdefault(WALL_TIME, Quantity("ns", "lower"))
    return values


def with_program_metrics(prepared: PreparedCapture) -> Capture:
    """Return the capture with all that its program prints as metrics.

    What the plan names decides. Where it names nothing, all that is printed and has a good
    direction does; where nothing is printed, the time of a run.
    """
    capture = prepared.capture
    planned_names = {metric.metric for metric in capture.metrics}
    decided = any(metric.gate for metric in capture.metrics) or capture.reference is None
    printed = [
        name
        for name, quantity in prepared.results.items()
        if name != WALL_TIME and quantity.better != "neither"
    ]
    deciding = set() if decided else set(printed or [WALL_TIME])
    if deciding == {WALL_TIME}:
        prepared.remark(
            f"{capture.name} prints no number that tracekit reads, so the time of a run decides."
        )
    printed_metrics = tuple(
        Gated(name, gate=name in deciding) for name in prepared.results if name not in planned_names
    )
    return replace(capture, metrics=(*capture.metrics, *printed_metrics))
