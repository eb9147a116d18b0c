"""How much one step has to do, at which clock."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from labelled.draws import Draws
from labelled.setup import Piece, Setup

_LOWEST = 0.45


def clock(setup: Setup, steady: int) -> float:
    """Return the share of the full clock in a step, counted from the first steady one.

    A lower clock lasts for a part of the steady phase, in its middle.
    """
    if steady < 0:
        return _LOWEST if steady + setup.warm_up < setup.ramp else 1.0
    ratio, share = setup.clock
    first = round(setup.steps * (1 - share) / 2)
    return ratio if first <= steady < first + round(setup.steps * share) else 1.0


def prefills(setup: Setup, steady: int) -> bool:
    """Tell whether a prompt is prefilled in a steady step."""
    return setup.server is not None and steady > 0 and steady % setup.server.prefill_every == 0


def pieces(setup: Setup, steady: int) -> tuple[Piece, ...]:
    """Return the kernels of a step, with a part of a prompt in them where they share the batch."""
    if setup.server is None or setup.server.alone or not prefills(setup, steady):
        return setup.pieces
    each = setup.server.prefill_time // len(setup.pieces) // 4
    return tuple(Piece(one.label, one.work + each) for one in setup.pieces)


def prompt(setup: Setup) -> tuple[Piece, ...]:
    """Return the kernels of a prompt that is prefilled alone."""
    assert setup.server is not None
    each = setup.server.prefill_time // len(setup.pieces)
    return tuple(Piece(one.label, each) for one in setup.pieces)


def weight(setup: Setup, draws: Draws, step: int) -> float:
    """Return by what a step's work differs from what its kernels say."""
    steady = step - setup.warm_up
    if steady < 0:
        return 1.0
    spread = math.exp(setup.uneven * draws.normal("uneven", step) - setup.uneven**2 / 2)
    spread *= 1 + setup.drift * steady / setup.steps
    if setup.variants:
        spread *= setup.variants[steady % len(setup.variants)]
    if setup.cliff is not None and steady >= setup.cliff[0]:
        spread *= 1 + setup.cliff[1]
    swing = 1 + setup.swing * (1 if steady % 2 else -1)
    whole = sum(one.work for one in setup.pieces)
    extra = sum(time for at, time in setup.spikes if at == steady)
    return spread * swing + extra / whole


def merges(setup: Setup, draws: Draws, step: int, place: int) -> bool:
    """Tell whether the driver merges the encoders of the buffer that begins at this place."""
    if setup.merged <= 0:
        return False
    return draws.normal("merging", step, place) > NormalDist().inv_cdf(1 - setup.merged)


def groups(setup: Setup, kernels: Sequence[Piece]) -> list[list[Piece]]:
    """Return which kernels go into one command buffer."""
    if not setup.buffer_work:
        size = setup.per_buffer
        return [list(kernels[at : at + size]) for at in range(0, len(kernels), size)]
    found: dict[int, list[Piece]] = {}
    before = 0
    for one in kernels:
        found.setdefault(before // setup.buffer_work, []).append(one)
        before += one.work
    return list(found.values())
