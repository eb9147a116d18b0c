"""A small program on a small machine, for the model that makes traces."""

from dataclasses import replace
from typing import Any

from labelled.facts import Facts
from labelled.program import simulate
from labelled.setup import MACHINES, MICROSECOND, Piece, Setup

PIECES = tuple(
    Piece(f"Command Buffer 0:{label}", work * MICROSECOND)
    for _ in range(3)
    for label, work in (("RMSNorm", 300), ("QuantizedMatmul", 1_800), ("paged_attention", 1_200))
)
SETUP = Setup(
    seed=7,
    machine=MACHINES[0],
    version="26.0",
    steps=20,
    warm_up=3,
    pieces=PIECES,
    per_buffer=4,
    compositor=200 * MICROSECOND,
)
STEP = 9_900 * MICROSECOND  # what the kernels of a step take


def make_facts(**changes: Any) -> Facts:
    return Facts(simulate(replace(SETUP, **changes)))
