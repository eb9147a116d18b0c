"""`starved-encoders`: encoders of a replay that keep few threads in flight and no unit busy."""

from collections.abc import Iterable

from tracekit.analysis.counters import CounterKind, Group
from tracekit.analysis.dispatches import RecordedDispatch
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.replay import OCCUPANCY, CaptureReplay, EncoderGroup, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.base import units
from tracekit.workload import threadgroups

_LAUNCH = "Compute Shader Launch Limiter"
_TARGET = "Occupancy Manager Target"
_BUSY_KINDS = (CounterKind.UTILIZATION, CounterKind.LIMITER)
_UNITS = frozenset(Group) - {Group.LAUNCH}
_LONE = 0.01  # an occupancy that a long tail can also have
_HELD_BACK = 0.85  # the target below which the occupancy manager holds threads back
_LAUNCHING = 0.10  # the launch limiter below which nothing waits to be launched


def starved_encoders(
    replay: CaptureReplay,
    machine: Machine,
    *,
    limit: float = 0.30,
    busy: float = 0.50,
    share: float = 0.10,
) -> Findings:
    """Encoders of a replay keep few threads in flight, and no unit busy: latency bounds them.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders with a kernel occupancy below
        `limit` (30 %) in which every limiter and utilization stays below `busy` (50 %), launching
        left out, if these hold `share` (10 %) of the cost. The occupancy manager's target and the
        launch limiter show whether threads were held back or never launched; with the capture
        itself, its grids, threadgroup memory and registers do. The thresholds are tracekit's own.

    Why it matters:
        A GPU hides the latency of memory behind other threads. If few are in flight and no unit is
        busy, faster arithmetic and fewer bytes save nothing: only more work at once does.

    What to do:
        Launch more threadgroups, or let independent dispatches run at once in a concurrent encoder.
        If threadgroup memory or registers limit the threads that fit, use less of them. Keep a
        change only if the time follows.

    When it abstains:
        When no occupancy was exported. Values of a serialized replay at a fixed clock are judged,
        in which independent dispatches do not run side by side as they may in the program.
    """
    replay.require((OCCUPANCY,), "kernel occupancy")

    def is_starved(encoder: ReplayEncoder) -> bool:
        occupancy = encoder.cells.get(OCCUPANCY)
        load = encoder.highest(_BUSY_KINDS, _UNITS)
        return (
            occupancy is not None and occupancy < limit and load is not None and load.share < busy
        )

    starved = replay.select(is_starved)
    if not starved.encoders or starved.share < share:
        return
    lone = replay.select(lambda encoder: is_starved(encoder) and encoder.cells[OCCUPANCY] < _LONE)
    others = replay.select(
        lambda encoder: is_starved(encoder) and encoder.cells[OCCUPANCY] >= _LONE
    )
    shown = others
    lone_count = len(lone.encoders)
    if not others.encoders:
        shown = lone
        lone_count = 0
    lowest, highest = shown.extremes(OCCUPANCY)
    target = shown.mean(_TARGET)
    launch = shown.mean(_LAUNCH)
    lever = _find_lever(shown, machine)
    lone_share = None
    if replay.cost:
        lone_share = lone.share
    yield finding(
        wording="starved-encoders",
        facts=(
            *shown.facts(),
            Fact("lowest", lowest, "ratio"),
            Fact("highest", highest, "ratio"),
            *_describe_load(shown, "used", CounterKind.UTILIZATION),
            *_describe_load(shown, "limited", CounterKind.LIMITER),
            Fact("target", target, "ratio"),
            Fact("launch", launch, "ratio"),
            Fact("few_launched", _are_few_launched(target, launch)),
            Fact("lone", lone_count),
            Fact("lone_share", lone_share, "ratio"),
            Fact("launches", _describe_launches(shown.dispatches)),
        ),
        lever=lever,
    )


def _describe_load(group: EncoderGroup, name: str, kind: CounterKind) -> tuple[Fact, Fact]:
    load = group.highest_load((kind,), _UNITS)
    if load is None:
        return Fact(f"{name}_counter", None), Fact(f"{name}_share", None, "ratio")
    return load.facts(name)


def _are_few_launched(target: float | None, launch: float | None) -> bool:
    """Tell whether nothing held threads back, so that there were none to start."""
    if target is None or launch is None:
        return False
    return target >= _HELD_BACK and launch < _LAUNCHING


def _find_lever(group: EncoderGroup, machine: Machine) -> Mechanism:
    """Return the mechanism that the capture shows, else the one that the counters show."""
    cores = machine.get("gpu_cores")
    dispatches = group.dispatches
    memory = 0
    for dispatch in dispatches:
        memory = max(memory, dispatch.memory or 0)
    if memory > threadgroups.MOST_BYTES // 2:
        return Mechanism.THREADGROUP_MEMORY
    if dispatches and cores and all(item.group_count < cores for item in dispatches):
        return Mechanism.SMALL_GRID
    target = group.mean(_TARGET)
    if _are_few_launched(target, group.mean(_LAUNCH)):
        return Mechanism.LATENCY_BOUND
    return Mechanism.LOW_OCCUPANCY


def _describe_launches(dispatches: Iterable[RecordedDispatch]) -> str:
    """Return the launch of each kernel in words: its threadgroups, memory and registers."""
    words: dict[str, None] = {}
    for dispatch in dispatches:
        text = (
            f"{dispatch.function or 'a function without a name'}: "
            f"{units.count(dispatch.group_count)} threadgroups of "
            f"{units.count(dispatch.group_threads)} threads"
        )
        if dispatch.memory is not None:
            text = f"{text}, {units.size(dispatch.memory)} of threadgroup memory"
        if "registers" in dispatch.counts:
            text = f"{text}, {dispatch.counts['registers']} registers a thread"
        words[text] = None
    return "; ".join([*words][:_SHOWN])


_SHOWN = 3
