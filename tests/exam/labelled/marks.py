"""What the program says of itself: phases, steps, spans, pipelines, its model, its requests."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from labelled.setup import MILLISECOND
from labelled.world import TARGET, World
from tracekit.record.host.exports import Row

Rows = Iterator[Row]

_TICK = 100 * MILLISECOND
_FASTEST = 1.296e9


def marks(world: World) -> dict[str, Rows]:
    """Return the tables of what was told beside the trace: by a monitor, and by the program."""
    monitored = {"gauges": _readings(world)} if world.setup.monitored else {}
    return monitored | (_own(world) if world.setup.marks else {})


def _own(world: World) -> dict[str, Rows]:
    tables = {
        "phases": _phases(world),
        "steps": _steps(world),
        "specializations": _specializations(world),
    }
    if world.setup.bytes_moved:
        tables["step_models"] = _model(world)
    told = sorted(_spans(world))
    if told:
        tables["spans"] = iter(told)
    if world.setup.server:
        tables["requests"] = _requests(world)
    return tables


def _readings(world: World) -> Rows:
    """Yield the GPU's clock and how active it was, as a monitor reads them."""
    random = np.random.default_rng([world.setup.seed, 5])
    starts = np.array([one.start for one in world.intervals])
    ends = np.array([one.end for one in world.intervals])
    for at in range(_TICK, world.end, _TICK):
        ratio = next((one.ratio for one in world.levels if one.start <= at < one.end), 0.3)
        ran = np.minimum(ends, at) - np.maximum(starts, at - _TICK)
        active = float(ran.clip(0).sum()) / _TICK
        yield at, "gpu_clock", _FASTEST * ratio * random.normal(1, 0.005), "Hz", "macmon"
        yield at, "gpu_active", min(1.0, active), "ratio", "macmon"


def _phases(world: World) -> Rows:
    off = world.setup.mark_error
    begin, end = world.steady
    warm = world.steps[0].start
    yield off, warm, "prepare"
    if world.setup.warm_up:
        yield warm + off, begin - warm, "warm-up"
    yield begin + off, end - begin, "steady"


def _steps(world: World) -> Rows:
    off, setup = world.setup.mark_error, world.setup
    for number, one in enumerate(world.steps):
        yield (
            *(one.start + off, one.completed - one.start, number, one.phase),
            *(one.submitted, setup.tokens, _variant(world, number)),
            *(None, None, None),  # its CPU times
        )


def _variant(world: World, number: int) -> str:
    names = ("paged", "sdpa", "other")[: len(world.setup.variants)]
    return names[(number - world.setup.warm_up) % len(names)] if names else ""


def _specializations(world: World) -> Rows:
    ends = [step.completed for step in world.steps]
    for one in world.compiles:
        if one.owner == TARGET:
            seen = next((end for end in ends if end >= one.end), one.end)
            yield (one.end if one.end < world.steps[0].start else seen), one.name


def _model(world: World) -> Rows:
    """Yield what a step moves and computes, for each variant in proportion to its work."""
    setup = world.setup
    for place, part in enumerate(setup.variants or (1.0,)):
        moved = round(setup.bytes_moved * part)
        yield (
            *(world.steps[0].start, "metal", setup.tokens, moved, moved, 0),
            *(round(setup.flops * part), len(setup.pieces)),
            _variant(world, setup.warm_up + place),
        )


def _spans(world: World) -> Rows:
    off = world.setup.mark_error
    begin, _ = world.steady
    for one in world.host:
        if one.kind == "compile" and one.start >= begin:
            yield one.start + off, one.end - one.start, "compile"
    for start, end in _readbacks(world) if world.setup.tells else ():
        yield start + off, end - start, "readback"
    if not world.setup.server:
        return
    for one in world.prefills:
        yield one.start + off, one.end - one.start, "prefill"
    for one in world.steps:
        inside = [fill for fill in world.prefills if one.start <= fill.start < one.completed]
        start = inside[0].end if inside and inside[0].alone else one.start
        if one.phase == "steady":
            yield start + off, one.completed - start, "decode"


def _readbacks(world: World) -> Iterator[tuple[int, int]]:
    """Yield when the program waited for a result and read it, in the steady phase."""
    begin, _ = world.steady
    for wait, read in pairwise(world.host):
        if wait.kind == "wait" and wait.start >= begin:
            yield wait.start, read.end if read.kind == "read" else wait.end


def _requests(world: World) -> Rows:
    """Yield one request that is answered all along, and one for each prompt."""
    begin, end = world.steady
    count = world.setup.steps
    yield begin, 0, "completed", 64, count, 1_000, 2_000_000, end - begin, count, None
    for number, one in enumerate(world.prefills, start=1):
        yield (
            *(one.start, number, "completed", 2048, 4, 1_000, one.end - one.start + 1_000_000),
            *(one.end - one.start + 8_000_000, 4, None),
        )
