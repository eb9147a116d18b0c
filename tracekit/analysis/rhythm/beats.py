"""The steps in a row, from the start of one to the start of the next."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, spans
from tracekit.analysis.pace import reference_work
from tracekit.analysis.steps import of_a_server, steady_steps

FEWEST = 16
"""Fewer steps than this have no rhythm that could be judged."""

LEAST_Z = 8.0
"""How many robust standard deviations a spike is beyond its neighbours' median."""
LEAST_EXCESS = 0.5
"""How much longer than that median a spike is at least, as a share of it."""

_SIGMA = 1.4826  # of a normal distribution, in medians of absolute deviations
_NEIGHBOURS = 31
_LEAST_SPREAD = 0.01  # of a typical step: no clock and no scheduler is steadier


@dataclass(frozen=True, eq=False)
class Beats:
    """Steady steps of one variant, in order of their starts.

    A beat ends where the next step starts, or the reference work that precedes it. A step that
    none follows has no beat: in a loop that submits ahead the last one waits for all that is in
    flight.
    """

    variant: str
    starts: Times
    ends: Times

    @property
    def times(self) -> Times:
        """How long each beat took, in ns."""
        return self.ends - self.starts

    @property
    def variation(self) -> float:
        """How much one beat differs from the next: a robust coefficient of variation.

        The median of the absolute differences of neighbours, scaled to a standard deviation of
        normal noise (by 1.4826 / √2), over the median beat. A slow drift, such as that of a
        growing context, adds nothing, and neither do single outliers.
        """
        typical = float(np.median(self.times))
        apart = float(np.median(np.abs(np.diff(self.times))))
        return _SIGMA * apart / np.sqrt(2) / typical

    @property
    def of_variant(self) -> str:
        """Whose steps these are, for a sentence; nothing where all are alike."""
        return f" of {self.variant}" if self.variant else ""


@dataclass(frozen=True, eq=False)
class Spikes:
    """The beats that stand out, and by how much each is longer than its neighbours; ns."""

    chosen: NDArray[np.bool_]
    excess: NDArray[np.float64]

    @property
    def share(self) -> float:
        """The share of beats that stand out."""
        return float(self.chosen.mean())


def beats(
    steps: pd.DataFrame, requests: pd.DataFrame | None, told: pd.DataFrame | None = None
) -> tuple[Beats, ...]:
    """Return the rhythm of the steady steps, each variant apart.

    Args:
        steps: The table of that name.
        requests: The same.
        told: The table `spans`.

    Raises:
        Unavailable: There are too few steps, or a server made them, whose steps differ by nature.
    """
    if of_a_server(steps, requests, told):
        raise Unavailable(
            "the steps are a server's, which differ with the requests that arrive; "
            "the metric tick_spikes counts those that took too long."
        )
    steady = steady_steps(steps).sort_values("start", kind="stable")
    starts = spans(steady)[0]
    follows = _followed(steps, steady)
    steady, starts, ends = steady[follows], starts[follows], np.roll(starts, -1)[follows]
    ends = _until_reference(starts, ends, told)
    variant = steady["variant"].fillna("") if "variant" in steady else pd.Series("", steady.index)
    names = np.asarray(variant.astype(str), dtype=object)
    found = tuple(
        Beats(str(name), starts[names == name], ends[names == name]) for name in np.unique(names)
    )
    return tuple(_long_enough(found))


def _followed(steps: pd.DataFrame, steady: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell which of the steady steps have another one right behind them."""
    places = np.sort(spans(steps)[0]).searchsorted(spans(steady)[0])
    return np.diff(places, append=-1) == 1


def _until_reference(starts: Times, ends: Times, told: pd.DataFrame | None) -> Times:
    """End beats where reference work begins in them: it is done just before the next step."""
    begun = np.append(np.sort(reference_work(told)[0]), np.iinfo(np.int64).max)
    return np.minimum(ends, begun[begun.searchsorted(starts)])


def _long_enough(found: tuple[Beats, ...]) -> list[Beats]:
    many = [one for one in found if one.starts.size >= FEWEST and np.median(one.times) > 0]
    if not many:
        most = max((one.starts.size for one in found), default=0)
        raise Unavailable(
            f"a rhythm takes {FEWEST} steady steps in a row, each with another one behind it; "
            f"the longest row has {most:,}."
        )
    return many


def spikes(one: Beats, least_z: float = LEAST_Z, least_excess: float = LEAST_EXCESS) -> Spikes:
    """Find the beats that are far longer than their neighbours.

    Args:
        one: The beats of one variant.
        least_z: As `LEAST_Z`.
        least_excess: As `LEAST_EXCESS`.
    """
    around = pd.Series(one.times).rolling(_NEIGHBOURS, center=True, min_periods=1).median()
    typical = around.to_numpy(dtype=np.float64)
    excess = one.times - typical
    spread = max(one.variation, _LEAST_SPREAD) * typical
    return Spikes((excess > least_z * spread) & (excess > least_excess * typical), excess)
