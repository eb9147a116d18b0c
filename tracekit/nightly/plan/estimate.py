"""How long a night takes, and what is worth knowing before the first one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracekit.analysis import METRICS
from tracekit.nightly.plan.plan import Capture, NightPlan

START = 5.0  # seconds for a process to start and warm up
TRACE = 30.0  # seconds of a trace beyond its time limit: start, saving, export, analysis


@dataclass(frozen=True)
class Timed:
    """How many seconds one capture takes if nothing has to be repeated.

    `most` is with a second session, and all the repeats that the plan allows; `learned` tells
    whether `seconds` is what earlier nights took.
    """

    capture: str
    seconds: float
    most: float
    learned: bool = False


@dataclass(frozen=True)
class Estimate:
    """How many seconds a night takes if nothing has to be repeated, and at most.

    At `budget` it is stopped. `assumptions` are what the numbers presume, a sentence each.
    """

    captures: tuple[Timed, ...]
    seconds: float
    most: float
    budget: float
    assumptions: tuple[str, ...]


def estimate(plan: NightPlan, measured: Mapping[str, float] | None = None) -> Estimate:
    """Estimate how long a night takes.

    `measured` are seconds that captures took in earlier nights, by name, with one session.
    """
    known = measured or {}
    captures = tuple(
        _timed(capture, plan.retries, known.get(capture.name)) for capture in plan.captures
    )
    return Estimate(
        captures=captures,
        seconds=sum(one.seconds for one in captures),
        most=sum(one.most for one in captures),
        budget=plan.budget,
        assumptions=tuple(_assumptions(plan, captures)),
    )


def _timed(capture: Capture, retries: int, measured: float | None) -> Timed:
    sides = 2 if capture.reference else 1
    pair = sides * (START + 2 * capture.turn)  # two turns each
    planned = capture.pairs * pair + capture.traced * sides * (capture.time_limit + TRACE)
    session = planned if measured is None else measured
    decides = bool(capture.fail_on) or any(metric.gate for metric in capture.metrics)
    most = (2 if decides else 1) * (session + retries * pair)
    return Timed(capture.name, session, most, learned=measured is not None)


def _assumptions(plan: NightPlan, captures: tuple[Timed, ...]) -> Iterator[str]:
    if not all(one.learned for one in captures):
        yield (
            f"{START:g} s are allowed for each process to start and warm up, and {TRACE:g} s for "
            "each trace in addition to its time limit."
        )
        yield (
            "Parity, checks and the setup of a revision come on top: how long they take is not "
            "known before they ran."
        )
    if names := ", ".join(one.capture for one in captures if one.learned):
        yield f"As long as in earlier nights: {names}."
    if sum(one.most for one in captures) > plan.budget:
        yield (
            "With all repeats the night would outlast its budget: it would be stopped, and kept "
            "as partial."
        )


def remarks(plan: NightPlan) -> tuple[str, ...]:
    """Return what a plan's author may not expect, a sentence each."""
    return tuple(f"{capture.name}: {words}" for capture in plan.captures for words in _of(capture))


def _of(capture: Capture) -> Iterator[str]:
    own = [metric.metric for metric in capture.metrics if metric.metric not in METRICS]
    if own:
        yield (
            f"{', '.join(own)} is no metric of tracekit, so it must be a result that the workload "
            f"{capture.workload} tells."
        )
    if capture.reference is None:
        yield "it has no reference, so that it is followed over nights, and decides nothing."
    elif not any(one.gate for one in capture.metrics) and not capture.fail_on:
        yield "none of its metrics decides."
    elif not capture.reference.same_work:
        yield (
            "its reference does other work, so nothing is decided until a night is accepted as "
            "what to expect: `tracekit baseline accept NIGHT --reason TEXT`."
        )
