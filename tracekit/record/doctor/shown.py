"""What recordings on this machine have shown, as facts of the table."""

from collections.abc import Iterator

from tracekit.base.capabilities import Capabilities, Combination, Mode
from tracekit.base.units import count, stamp
from tracekit.record.doctor.fact import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.xctrace.problems import NO_COUNTERS, WAYS_TO_COUNTERS

PREFIX = "probe"

_NO_ROWS = (
    "Look at developer mode above, quit other recorders, and record once in Instruments itself: "
    "if that shows no GPU work either, this system does not give any."
)
_AGAIN = "Mend what it says; `tracekit doctor --probe` tries again."
_NO_GPU_WORK = "The probe ran on the CPU, so it had no GPU work to show."
_ON_CPU = "The probe ran on the CPU, so there is no number of dispatches to hold against it."
_OTHER_WAY: dict[Mode, str] = {
    "launch": "Record workloads with `--method attach`, running programs with `--attach PID`.",
    "attach": "Record with `--method launch`, and programs of your own after `--`.",
}


def shown(capabilities: Capabilities | None, *, has_xctrace: bool) -> Iterator[Fact]:
    """Say which ways to record gave rows, when this machine was probed."""
    if not has_xctrace:
        yield not_applicable(PREFIX, "There is no xctrace to record with.")
    elif capabilities is None:
        yield unknown(
            PREFIX,
            "never probed with this system and this Xcode",
            "`tracekit doctor --probe` records for two seconds in each way.",
        )
    else:
        when = stamp(capabilities.probed)
        yield ok(PREFIX, f"{len(capabilities.combinations)} ways to record were tried {when}")
        yield from _modes(capabilities)
        yield _counters(capabilities)


def _modes(capabilities: Capabilities) -> Iterator[Fact]:
    tried = [one for one in capabilities.combinations if not one.counters]
    for one in tried:
        others = any(other.works for other in tried if other is not one)
        yield _mode(one, another_works=others)


def _mode(one: Combination, *, another_works: bool) -> Fact:
    name = f"{PREFIX}: {one.mode}"
    if not one.works:
        words = one.failure or _absence(one)
        if one.backend == "cpu":
            return failed(name, f"{words} {_NO_GPU_WORK}", "See `mlx metal` above.")
        if another_works:
            return warning(name, words, _OTHER_WAY[one.mode])
        return failed(name, words, _AGAIN if one.failure else _NO_ROWS)
    rows = f"{count(one.rows)} GPU intervals of the probe's own"
    if one.dispatches is None:
        why = _ON_CPU if one.backend == "cpu" else "How many dispatches it made is not known."
        return ok(name, f"{rows}. {why}")
    words = f"{rows} for {count(one.dispatches)} dispatches"
    if (one.rows or 0) >= one.dispatches:
        return ok(name, words)
    return warning(
        name,
        f"{words}: work is missing from the trace.",
        "Trust no sums of this machine's traces until rows and dispatches agree; probe again "
        "with nothing else running.",
    )


def _absence(one: Combination) -> str:
    if one.rows is None:
        return "Whether the probe's work was recorded is not known."
    return (
        "The recording was saved without a GPU interval of the probe's own; "
        f"other processes have {count(one.others)}."
    )


def _counters(capabilities: Capabilities) -> Fact:
    name = f"{PREFIX}: counters"
    tried = [one for one in capabilities.combinations if one.counters]
    working = [one for one in tried if one.counter_rows and not one.failure]
    if working:
        samples = ", ".join(
            f"{one.mode} {count(one.counter_rows)} samples of {one.counter_set or 'no named set'}"
            for one in working
        )
        return ok(name, samples)
    if all(one.rows is None for one in tried):
        return unknown(name, "No trace with counters could be read, so nothing is known of them.")
    why = "; ".join(dict.fromkeys(one.failure for one in tried if one.failure))
    return warning(
        name, f"{NO_COUNTERS}{f': {why}' if why else '.'}", f"`--counters off`. {WAYS_TO_COUNTERS}"
    )
