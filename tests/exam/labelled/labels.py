"""Which rules should find something in a trace, and which must not, by what is true of it.

A size is measured in units of the limit from which a fault matters: 1 is the limit itself.
Sizes within MARGIN of it are neither here nor there, and a size of None means that the trace
cannot show the fault either way.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

import numpy as np

from labelled.bounds import COUNTED, cache_resident, counted, roofline_distance
from labelled.chore_shares import avoidable, metadata, share_of_label, unfused
from labelled.facts import Facts, Size
from labelled.faults import MADE_ELSEWHERE
from labelled.program import simulate
from labelled.required import NEED_MARKS, NEEDED

_TURNS = 2  # steps, of which one is late
_FEW = 30  # steps
_SEVERAL = 3  # spikes of a loop that nobody marks
MARGIN = 0.2
"""How far from its limit a fault has to be to count: 20 % above it, or below it."""

# What is to be seen without any work of the target on the GPU.
_WITHOUT_WORK = {
    *("pipeline-churn", "irregular-cadence", "step-spikes", "thermal-pressure", "memory-growth"),
    *("schema-drift", "trace-overhead", "serial-prefill", "hot-allocations"),
    *("left-out-time", "rows-missing"),
}


class Label(Enum):
    """What a rule should do with a trace."""

    FIND = "find"
    PASS = "pass"
    EITHER = "either"


def label(rule: str, facts: Facts) -> Label:
    """Return what the rule should do."""
    setup = facts.world.setup
    if setup.broken and not rule.startswith("capture-"):
        return Label.EITHER
    if setup.empty and not rule.startswith("capture-") and rule not in _WITHOUT_WORK:
        return Label.PASS
    size = SIZES[rule](facts)
    hidden = rule in NEED_MARKS and not setup.marks
    hidden |= bool(NEEDED.get(rule, frozenset[str]()) & setup.missing)
    if size is None or (hidden and size > 1 - MARGIN):
        return Label.EITHER
    if 1 - MARGIN < size < 1 + MARGIN:
        return Label.EITHER
    return Label.FIND if size >= 1 + MARGIN else Label.PASS


def _rows_missing(facts: Facts) -> float | None:
    """Return no size for a cut or filtered recording, which lacks rows of steady steps."""
    setup = facts.world.setup
    return None if setup.empty or setup.cut or setup.stopped else 0.0


def _never(facts: Facts) -> float:
    return 0.0


def _bubbles(facts: Facts) -> float | None:
    return None if facts.world.setup.pause else facts.idle_share() / 0.05


def _late_start(facts: Facts) -> float:
    return facts.idle_share("late-start") / 0.05


def _shallow_queue(facts: Facts) -> float | None:
    if facts.world.setup.ahead:
        return 0.0
    setup = facts.world.setup
    if setup.readbacks or setup.wiring or setup.pause:
        return None  # which of its waits are at fault is for another rule to say
    return _cost(facts, ahead=1) / 0.05


def _frequent_readback(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.variants and not setup.marks:
        return None  # variants in turn look like one iteration, with a wait for each of them
    waits = setup.readbacks + (setup.ahead == 0)
    return min(0.5, setup.readbacks) if waits < 2 else _cost(facts, readbacks=0) / 0.03


def _cost(facts: Facts, **other: int) -> float:
    """Return by what share the same trace is shorter with these changes to its setup."""
    healed = Facts(simulate(replace(facts.world.setup, **other)))
    return 1 - healed.length / facts.length


def _tiny_encoders(facts: Facts) -> float:
    return facts.idle_share("between-encoders") / 0.05


def _frequent_command_buffers(facts: Facts) -> float:
    return facts.idle_share("between-buffers") / 0.03


def _host_bound(facts: Facts) -> float | None:
    setup = facts.world.setup
    share = (facts.idle_share("encoding") + facts.idle_share("host")) / 0.05
    if setup.readbacks or setup.pause:
        return None if share > 1 - MARGIN else share
    return share if setup.ahead else 0.0


def _performance_cliff(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.server or setup.variants or setup.swing or setup.spikes or setup.rival:
        return None
    if setup.cliff is None:
        return 0.0
    return None if setup.clock[1] not in {0.0, 1.0} else setup.cliff[1] / 0.25


def _irregular_cadence(facts: Facts) -> float | None:
    """Say by how much every second step is later, for the host; the device's work is no rhythm."""
    setup = facts.world.setup
    if setup.variants and (setup.uneven > 0.03 or setup.swing):
        return None
    if setup.server or setup.compiles or setup.spikes:
        return None
    if setup.clock[1] not in {0.0, 1.0} or setup.rival:
        return None
    if setup.late_every == 1:
        return 0.0
    if setup.late_every > _TURNS or setup.ahead or facts.periods.size < _FEW:
        return None
    return setup.late / float(np.quantile(facts.periods, 0.25)) / 0.2


def _uneven_work(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.variants or setup.server or setup.spikes or setup.cliff or setup.drift:
        return None
    if setup.clock[1] not in {0.0, 1.0} or setup.rival:
        return None
    own = max(setup.uneven, 2 * setup.swing / (1 - setup.swing))
    few = facts.periods.size < _FEW and own > 0.2 * (1 - MARGIN)
    return None if few and own < 0.4 else own / 0.2


def _growing_steps(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.variants or setup.server or setup.cliff or setup.clock[1] not in {0.0, 1.0}:
        return None
    if setup.uneven > 0.1 or setup.swing or setup.rival:
        return None
    return None if setup.drift and facts.periods.size < _FEW else setup.drift / 0.25


def _step_spikes(facts: Facts) -> float | None:
    """Say how much steps take too long that take twice the usual time; a third longer may count.

    Steps in which compiles take half of the excess or more are pipeline-churn's, and do not count;
    near half, either is right.
    """
    setup = facts.world.setup
    if setup.server or facts.periods.size < 16 or setup.pause:
        return None
    if setup.uneven > 0.1 or setup.swing > 0.1:
        return None
    if setup.compiles and not setup.marks and NEEDED["pipeline-churn"] & setup.missing:
        return None  # nothing shows that they compiled
    many, excess = facts.spikes(2.0, explained=0.5 * (1 - MARGIN))
    if not setup.marks and 0 < many * facts.periods.size < _SEVERAL - 0.5:
        return None  # nothing shows that the program did not stop there of its own accord
    many *= max(1, len(setup.variants))  # all of them may be of one variant
    _, at_most = facts.spikes(1.35, explained=0.5 * (1 + MARGIN))
    if excess > 0.01 * (1 + MARGIN) and many <= 0.1:
        return excess / 0.01
    return at_most / 0.01 if at_most < 0.01 * (1 - MARGIN) else None


def _churn(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.foreign_compiles and not setup.marks and not setup.compiles:
        return None  # whom another program compiled for, such a trace does not say
    return 10.0 * len(setup.compiles)


def _spills(facts: Facts) -> float:
    setup = facts.world.setup
    there = setup.version.startswith("27") and "graphics-compiler-spill-events" not in setup.missing
    return 10.0 * (setup.spilled > 0 and there)


def _downclocked(facts: Facts) -> float:
    begin, end = facts.world.steady
    slow = sum(
        max(0, min(one.end, end) - max(one.start, begin))
        for one in facts.world.levels
        if one.ratio < 0.95
    )
    return slow / facts.length / 0.10


def _thermal(facts: Facts) -> float:
    return 10.0 * (facts.world.setup.thermal in {"Serious", "Critical"})


def _memory_growth(facts: Facts) -> float:
    setup = facts.world.setup
    grown = setup.leak * setup.steps
    return min(grown / facts.world.memory[0][1] / 0.05, grown / (32 << 20))


def _hot_allocations(facts: Facts) -> float:
    setup = facts.world.setup
    return setup.allocations / 2


def _lost_residency(facts: Facts) -> float:
    setup = facts.world.setup
    if setup.allocations or setup.wired * setup.steps < 8 << 20:
        return 0.0
    return setup.wiring * setup.steps / facts.length / 0.01


def _left_out(facts: Facts) -> float | None:
    """Say how long the pause is; the load before a loop may be named as well."""
    setup = facts.world.setup
    if setup.marks:
        return 0.0
    usual = float(np.median(facts.periods)) if facts.periods.size else 0.0
    size = setup.pause / max(300e6, 10 * usual)
    return size if size > 1 + MARGIN else None


def _serial_prefill(facts: Facts) -> float | None:
    server = facts.world.setup.server
    if server is None or not server.alone:
        return 0.0
    usual = sum(one.work for one in facts.world.setup.pieces)
    stalls = [one.end - one.start for one in facts.world.prefills]
    if stalls and 0.6 < np.median(stalls) / (2 * usual) < 1.5:
        return None
    long = [one for one in stalls if one > 2 * usual]
    return sum(long) / facts.length / 0.05


def _truncated(facts: Facts) -> float | None:
    setup = facts.world.setup
    if setup.cut is not None:
        return 10.0
    if setup.stopped is None:
        return 0.0
    lost = facts.length * (1 - setup.stopped)
    return min(lost / facts.length / 0.05, lost / 100e6) if setup.marks else None


SIZES: Mapping[str, Size] = {
    **dict.fromkeys(MADE_ELSEWHERE, _never),
    "bubbles": _bubbles,
    "late-start": _late_start,
    "shallow-queue": _shallow_queue,
    "frequent-readback": _frequent_readback,
    "pipeline-churn": _churn,
    "shader-spills": _spills,
    "gpu-contended": lambda facts: (facts.idle_share("other-process") + facts.beside) / 0.05,
    "tiny-encoders": _tiny_encoders,
    "host-bound": _host_bound,
    "frequent-command-buffers": _frequent_command_buffers,
    "irregular-cadence": _irregular_cadence,
    "uneven-work": _uneven_work,
    "growing-steps": _growing_steps,
    "step-spikes": _step_spikes,
    "performance-cliff": _performance_cliff,
    "gpu-downclocked": _downclocked,
    "thermal-pressure": _thermal,
    "memory-growth": _memory_growth,
    "hot-allocations": _hot_allocations,
    "lost-residency": _lost_residency,
    "command-buffer-errors": lambda facts: 10.0 * facts.world.setup.errors,
    "left-out-time": _left_out,
    "unfused-attention": unfused,
    "avoidable-kernels": avoidable,
    **{name: counted(name) for name in COUNTED},
    "roofline-distance": roofline_distance,
    "cache-resident": cache_resident,
    "metadata-per-layer": metadata,
    "scatter-encoder": share_of_label("Scatter", 0.02),
    "gather-share": share_of_label("Gather", 0.10, of_busy=True),
    "serial-prefill": _serial_prefill,
    "rows-missing": _rows_missing,
    "capture-empty": lambda facts: 10.0 * facts.world.setup.empty,
    "capture-truncated": _truncated,
    "impossible-rows": lambda facts: 10.0 * bool(facts.world.setup.overlong),
    "schema-drift": lambda facts: 10.0 * bool(facts.world.setup.drifted),
    "trace-overhead": lambda facts: (facts.world.setup.overhead or 0.0) / 0.05,
}
"""How large each fault is in a trace, by the name of the rule that should find it."""
