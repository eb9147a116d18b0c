"""All that decides on the pieces of one device's gaps, and the way to look it up for each piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.idle.awaited import Awaited
from tracekit.analysis.idle.cause import Codes
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.surroundings import Flags, Sights, Surroundings
from tracekit.analysis.intervals import IntervalSet, Times

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True)
class GapPieces:
    """Pieces of gaps, in order; ns. `gap` is the number of the gap that each belongs to."""

    start: Times
    end: Times
    gap: NDArray[np.int64]

    @property
    def lengths(self) -> Times:
        """The length of each piece, in ns."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class GapScene:
    """The gaps of one device, cut into pieces, and all events that may explain them.

    `lives` are the command buffers on this device, ordered by start, and `awaited` those that the
    commit of each waited for; `target` are the command buffers on all devices. `sights` are the
    activities of `around` at the start of each piece: none of them changes within a piece.
    """

    gaps: IntervalSet
    pieces: GapPieces
    lives: Lives
    awaited: Awaited
    around: Surroundings
    sights: Sights
    target: Lives

    @cached_property
    def buffers_after_gaps(self) -> NDArray[np.intp]:
        """The place in `lives` of the command buffer that the device starts after each gap.

        The work after the gap belongs to it, whether it had started before or not. Behind the last
        command buffer it is their number, which `take_or` takes for none.
        """
        return np.searchsorted(self.lives.started, self.gaps.ends, side="left")

    @cached_property
    def next_buffers(self) -> NDArray[np.intp]:
        """The same for each piece."""
        return self.buffers_after_gaps[self.pieces.gap]


def take_or(
    values: NDArray[_Number], places: NDArray[np.intp], otherwise: float
) -> NDArray[_Number]:
    """Return the value at each place; `otherwise` at the place behind the last value."""
    extended = np.append(values, np.array(otherwise, values.dtype))
    return extended[places]


def select_first(
    cases: Sequence[tuple[Flags, Codes | np.int16]], otherwise: Codes | np.int16
) -> Codes:
    """Return for each piece the code of the first case whose flag is set, else of `otherwise`."""
    flags = [flag for flag, _ in cases]
    codes = [code for _, code in cases]
    return np.select(flags, codes, otherwise)
