"""Calls of MLX as steps, and steps of two variants in turn, in one recording."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tracekit.base import paired
from tracekit.workload.workload import Measured, Results, Step, StepReport, Submitted, Work

if TYPE_CHECKING:
    import mlx.core as mx

Order = Literal["abba", "abab"]
Timed = tuple[str, int]


@dataclass(frozen=True)
class Variant:
    """One of two things that are compared: its name, its step, and the work of that step."""

    name: str
    submit: Callable[[], Submitted]
    work: Work


@dataclass
class Turns:
    """Two variants in turn, and the duration of each turn so far."""

    subject: Variant  # the variant that is judged
    baseline: Variant  # its reference
    order: Order  # the repeated order of steps: "abba" or "abab", a the subject
    block: Callable[[Submitted], None]  # waits for the work that a variant submitted
    # the steps so far: the variant, and ns from building the step until it was complete
    timed: list[Timed] = field(default_factory=list[Timed])
    _started: int = 0

    @property
    def turn(self) -> Variant:
        """The variant whose step comes next."""
        letter = self.order[len(self.timed) % len(self.order)]
        if letter == "a":
            return self.subject
        return self.baseline

    def submit(self) -> Submitted:
        """Submit a step of the variant whose turn it is."""
        self._started = time.monotonic_ns()
        return self.turn.submit()

    def wait(self, work: Submitted) -> None:
        """Wait for the step; then it is the next one's turn."""
        self.block(work)
        step_time = time.monotonic_ns() - self._started
        self.timed.append((self.turn.name, step_time))

    def tell(self) -> StepReport:
        """Report the variant of the last step."""
        name = self.timed[-1][0]
        variant = self.baseline
        if name == self.subject.name:
            variant = self.subject
        return StepReport(variant=name, tokens=variant.work.tokens)

    def begin(self) -> None:
        """Start again, with the first turn: the steps before were warm-up."""
        self.timed.clear()

    def finish(self) -> Results:
        """Return the results of `compare_variants` for the steps so far."""
        return compare_variants(self.timed, self.subject, self.baseline)


def alternate(
    turns: Turns,
    *,
    backend: str,
    results: Results,
    **more: Any,
) -> Step:
    """Make the step of a workload that compares two things; `more` is for `Step`."""
    variants = {variant.name: variant.work for variant in (turns.subject, turns.baseline)}
    return Step(
        submit=turns.submit,
        wait=turns.wait,
        backend=backend,
        results=results,
        variants=variants,
        tell=turns.tell,
        begin=turns.begin,
        finish=turns.finish,
        **more,
    )


def compare_variants(timed: Sequence[Timed], subject: Variant, baseline: Variant) -> Results:
    """Return the step times of both variants, and the speed-up of the subject.

    A pair is a step of each, one right after the other. The speed-up is the median over pairs
    of the baseline's time by the subject's, above 1 if the subject is faster, with a 95 % interval
    of order statistics.
    """
    results: dict[str, float | Measured] = {}
    for variant in (subject, baseline):
        variant_times = [step_time for name, step_time in timed if name == variant.name]
        results |= _summarize_variant(variant, variant_times)
    pair_starts = range(0, len(timed) - 1, 2)
    pairs = [dict(timed[start : start + 2]) for start in pair_starts]
    baseline_times = [pair[baseline.name] for pair in pairs]
    subject_times = [pair[subject.name] for pair in pairs]
    ratio = paired.paired_ratio(baseline_times, subject_times)
    needed = paired.least_pairs()
    shortfall = f"an interval needs {needed} pairs of steps, and there were {len(pairs)}"
    speedup = _make_measured(ratio.median, "x", "higher", "there was no pair of steps")
    speedup_low_95 = _make_measured(ratio.lower_bound, "x", "higher", shortfall)
    speedup_high_95 = _make_measured(ratio.upper_bound, "x", "higher", shortfall)
    return results | {
        "speedup": speedup,
        "speedup_low_95": speedup_low_95,
        "speedup_high_95": speedup_high_95,
        "pairs": Measured(len(pairs), "count"),
    }


def _summarize_variant(variant: Variant, times: Sequence[int]) -> dict[str, Measured]:
    median = None
    rate = None
    if times:
        median = statistics.median(times)
        seconds = sum(times) / 1e9
        rate = variant.work.tokens * len(times) / seconds
    reason = f"the steady phase had no step of {variant.name}"
    step_time = _make_measured(median, "ns", "lower", reason)
    results = {f"step_time_{variant.name}": step_time}
    if variant.work.tokens:
        name = f"tokens_per_second_{variant.name}"
        results[name] = _make_measured(rate, "tokens/s", "higher", reason)
    return results


def _make_measured(
    value: float | None, unit: str, better: Literal["lower", "higher"], reason: str
) -> Measured:
    if value is not None:
        reason = ""
    return Measured(value, unit, better, reason)


Call = Callable[[], "mx.array"]


def backend() -> str:
    """Return the current device of MLX: "metal", "cpu" or "gpu" for another one."""
    import mlx.core as mx

    if mx.default_device() == mx.Device(mx.cpu):
        return "cpu"
    return "metal" if mx.metal.is_available() else "gpu"


def submitting(call: Call) -> Call:
    """Return a call that hands its work over without waiting for it."""
    import mlx.core as mx

    def submit() -> "mx.array":
        result = call()
        mx.async_eval(result)
        return result

    return submit


def step_of(call: Call, work: Work, **more: Any) -> Step:
    """Return the step of a call, which builds the result of this work; `more` is for `Step`."""
    import mlx.core as mx

    settings = {**vars(work), **more}
    submit = submitting(call)
    return Step(submit=submit, wait=mx.eval, backend=backend(), **settings)


def variant_of(name: str, call: Call, work: Work) -> Variant:
    """Return the variant of a call, which is one of two that are compared."""
    return Variant(name, submitting(call), work)
