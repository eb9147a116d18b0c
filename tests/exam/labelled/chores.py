"""Faults of paged attention: chores around its kernels that take work of their own."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labelled.setup import MICROSECOND, Piece, Setup
from labelled.submission import amount

Random = np.random.Generator

_FEWEST_PIECES = 12  # of a step, half of which have an array of metadata before them


def _named(setup: Setup) -> tuple[Piece, ...]:
    kernels = ("QuantizedMatmul", "paged_attention", "RMSNorm")
    return tuple(
        replace(one, label=f"Command Buffer 0:{kernels[k % len(kernels)]}")
        for k, one in enumerate(setup.pieces)
    )


def _beside(setup: Setup, label: str, each: int, every: int = 2) -> Setup:
    """Put a piece of work before every so many kernels."""
    extra = Piece(f"Command Buffer 0:{label}", each, 3_000)
    made: list[Piece] = []
    for number, one in enumerate(_named(setup)):
        made += [extra, one] if number % every == 0 else [one]
    return replace(setup, pieces=tuple(made), merged=0.0, marks=True)


def without(*labels: str, keep: int = 0) -> Callable[[Setup], Setup]:
    """Return what takes out work of these labels, but for the first `keep` of each."""

    def heal(setup: Setup) -> Setup:
        left = dict.fromkeys(labels, keep)
        made: list[Piece] = []
        for one in setup.pieces:
            name = one.label.rpartition(":")[2]
            if name in left:
                left[name] -= 1
                if left[name] < 0:
                    continue
            made.append(one)
        return replace(setup, pieces=tuple(made))

    return heal


def metadata_per_layer(setup: Setup, random: Random) -> Setup:
    """Make arrays of metadata before every other kernel, of at least twelve."""
    layers = -(-_FEWEST_PIECES // len(setup.pieces))
    pieces = tuple(replace(p, work=p.work // (8 * layers)) for p in setup.pieces)
    short = replace(setup, pieces=pieces * layers)
    return _beside(short, "Arange", int(random.uniform(1, 9) * MICROSECOND))


def scatter_encoder(setup: Setup, random: Random) -> Setup:
    """Write to the cache in pieces of work of their own."""
    each = amount(setup, random, 0.004, 0.2) * 2 // len(setup.pieces)
    return _beside(setup, "Scatter", max(2_000, each))


def unfused_attention(setup: Setup, random: Random) -> Setup:
    """Put a product, a softmax and a product into every layer, or a fused kernel."""
    share, fused = float(random.uniform(0.01, 0.5)), random.random() < 0.3
    made: list[Piece] = []
    for one in setup.pieces[::2]:
        names = ("sdpa_vector",) if fused else ("Matmul", "Softmax", "Matmul")
        each = round(one.work * share / len(names))
        made.append(Piece("Command Buffer 0:RMSNorm", round(one.work * (1 - share))))
        made += [Piece(f"Command Buffer 0:{name}", max(2_000, each)) for name in names]
    return replace(setup, pieces=tuple(made), merged=0.0)


def avoidable_kernels(setup: Setup, random: Random) -> Setup:
    """Copy or sort before every other kernel."""
    each = amount(setup, random, 0.02, 0.5) * 2 // len(setup.pieces)
    return _beside(setup, str(random.choice(["Copy", "Sort"])), max(2_000, each))


def gather_share(setup: Setup, random: Random) -> Setup:
    """Gather pages before every other kernel."""
    each = amount(setup, random, 0.02, 0.5) * 2 // len(setup.pieces)
    return _beside(setup, "Gather", max(2_000, each))
