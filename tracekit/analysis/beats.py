"""The beats of the workload's steps: their starts and ends, their evenness, and the outliers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import NotApplicable, Remedy, Unavailable
from tracekit.analysis.intervals import Times, in_order
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import quiet_limit
from tracekit.analysis.modes import LEAST_SPREAD, SIGMA
from tracekit.analysis.scope import of_a_server, reference_work, steady_steps

FEWEST = 16
"""Fewer steps than this have no rhythm that could be judged."""
LEAST_Z = 8.0
"""How many robust standard deviations a spike is beyond its neighbours' median."""
LEAST_EXCESS = 0.5
"""How much longer than that median a spike is at least, as a share of it."""
_NEIGHBOURS = 31
_OTHER = 0.25  # largest usual deviation of the number of intervals, as a share


@dataclass(frozen=True, eq=False)
class Beats:
    """Steady steps of one variant, in order of their starts.

    A beat ends at the start of the next step, or of the reference work that precedes it. A step
    without a successor has no beat: in a loop that submits ahead the last one waits for all work in
    flight. For iterations without marks, a beat is the time from the device's end of one to its end
    of the next: a host that runs ahead submits in a rhythm of its own, which does not matter to the
    user. `work` is the device time of each (ns), and `pieces` the number of its intervals; NaN if
    unknown.
    """

    variant: str
    starts: Times
    ends: Times
    work: NDArray[np.float64]
    pieces: NDArray[np.float64]

    @property
    def times(self) -> Times:
        """The length of each beat, in ns."""
        return self.ends - self.starts

    @property
    def variation(self) -> float:
        """The variation from one beat to the next: a robust coefficient of variation.

        The median of the absolute differences of neighbours, scaled to a standard deviation of
        normal noise (by 1.4826 / √2), over the median beat. A slow drift, such as that of a growing
        context, adds nothing, and neither do single outliers.
        """
        return _vary(self.times, self.times)

    @property
    def variation_of_rest(self) -> float:
        """The variation of the time outside device work, over the median beat."""
        return _vary(self.rest_times, self.times)

    @property
    def variation_of_work(self) -> float:
        """The variation of the device work, over its median; 0 if it is unknown."""
        if not self.has_work:
            return 0.0
        return _vary(self.work, self.work)

    @property
    def is_other_work(self) -> NDArray[np.bool_]:
        """Whether each beat has far more or fewer intervals of device work than usual.

        Such beats do different work; the others do the same work, though it may take longer.
        """
        median_pieces = float(np.median(self.pieces))
        with np.errstate(invalid="ignore"):
            distances = np.abs(self.pieces - median_pieces)
            return distances > _OTHER * median_pieces

    @property
    def certain(self) -> float:
        """The certain part of a variation for this number of beats, by one standard error.

        A median of absolute differences has a relative standard error of about 1.17 / √n.
        """
        return float(1 - 1.17 / np.sqrt(self.starts.size))

    @property
    def has_work(self) -> bool:
        """Whether the device work of each beat is known."""
        return bool(np.isfinite(self.work).all() and np.median(self.work) > 0)

    @property
    def rest_times(self) -> NDArray[np.float64]:
        """The length of each beat without its own device work, in ns, at least 0.

        Unknown work counts as none.
        """
        work_times = np.nan_to_num(self.work)
        return np.maximum(self.times - work_times, 0)

    @property
    def of_variant(self) -> str:
        """The variant of the steps as words in a sentence; empty if all are alike."""
        if not self.variant:
            return ""
        return f" of {self.variant}"


def _vary(values: NDArray[np.float64] | Times, typical: NDArray[np.float64] | Times) -> float:
    """Return the variation of neighbours, as defined by `Beats.variation`."""
    step_changes = np.abs(np.diff(values))
    apart = float(np.median(step_changes))
    deviation = SIGMA * apart / np.sqrt(2)
    return float(deviation / np.median(typical))


def beats(
    steps: pd.DataFrame, requests: pd.DataFrame | None, annotations: pd.DataFrame | None = None
) -> tuple[Beats, ...]:
    """Return the rhythm of the steady steps, separately for each variant."""
    if of_a_server(steps, requests, annotations):
        raise NotApplicable(
            "the steps are a server's, which differ with the requests that arrive; "
            "the metric tick_spikes counts those that took too long."
        )
    steady = in_order(steady_steps(steps))
    by_device = _by_device(steady)
    follows, starts, ends = by_device or _by_starts(steps, steady)
    ends = _until_reference(starts, ends, annotations)
    work = _read_column(steady, "work")
    pieces = _read_column(steady, "pieces")
    rows: list[Beats] = []
    for name, of_variant in _by_variant(steady):
        chosen = follows & of_variant
        if chosen.any():
            chosen_work = work[chosen], pieces[chosen]
            row = Beats(name, starts[chosen], ends[chosen], *chosen_work)
            rows.append(row)
    return tuple(_long_enough(tuple(rows)))


def _by_variant(steady: pd.DataFrame) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the variants in order, each with the mask of its steps."""
    if "variant" not in steady:
        return [("", np.ones(len(steady), np.bool_))]
    variants = steady["variant"].fillna("")
    codes, names = pd.factorize(variants, sort=True)
    return [(str(name), codes == code) for code, name in enumerate(names)]


def _read_column(steady: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, NaN for unknown values or a missing column."""
    if name not in steady:
        return np.full(len(steady), np.nan)
    numbers = steady[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(numbers, np.float64)


_Beaten = tuple[NDArray[np.bool_], Times, Times]


def _by_device(steady: pd.DataFrame) -> _Beaten | None:
    """Return the mask of iterations that follow another one, and beats by ends of device work.

    None for steps that a workload marks, and if such ends are unknown or not in order.
    """
    unmarked = "ended" in steady and not (steady["source"] == "steps").any()
    if not unmarked or steady["ended"].isna().any():
        return None
    device_ends = steady["ended"].to_numpy(dtype=np.int64)
    if device_ends.size < FEWEST or (np.diff(device_ends) <= 0).any():
        return None
    starts, ends = bounds(steady)
    near = 0
    if not (steady["source"] == "structure").all():
        near = quiet_limit(starts)
    is_near = starts[1:] - ends[:-1] <= near
    follows = np.append(False, is_near)
    return follows, np.roll(device_ends, 1), device_ends


def _by_starts(steps: pd.DataFrame, steady: pd.DataFrame) -> _Beaten:
    """Return the mask of steps with another one right after them, and beats by the starts."""
    starts = bounds(steady)[0]
    followed = _find_followed(steps, steady)
    return followed, starts, np.roll(starts, -1)


def _find_followed(steps: pd.DataFrame, steady: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which steady steps have another one right after them, without a pause."""
    starts, ends = bounds(steady)
    sorted_starts = np.sort(bounds(steps)[0])
    places = sorted_starts.searchsorted(starts)
    follows = np.diff(places, append=-1) == 1
    if "source" in steady and not (steady["source"] == "steps").all():
        near = 0
        if not (steady["source"] == "structure").all():
            near = quiet_limit(starts)
        is_near = starts[1:] - ends[:-1] <= near
        follows[:-1] &= is_near
    return follows


def _until_reference(starts: Times, ends: Times, annotations: pd.DataFrame | None) -> Times:
    """End beats at the start of reference work in them, which runs just before the next step."""
    sorted_starts = np.sort(reference_work(annotations)[0])
    reference_starts = np.append(sorted_starts, np.iinfo(np.int64).max)
    next_references = reference_starts[reference_starts.searchsorted(starts)]
    return np.minimum(ends, next_references)


def _long_enough(rows: tuple[Beats, ...]) -> list[Beats]:
    many = [row for row in rows if row.starts.size >= FEWEST and np.median(row.times) > 0]
    if not many:
        longest_row = max((row.starts.size for row in rows), default=0)
        raise Unavailable(
            f"a rhythm takes {FEWEST} steady steps in a row, each with another one behind it; "
            f"the longest row has {longest_row:,}.",
            Remedy.LONGER,
        )
    return many


def spikes(
    row: Beats, least_z: float = LEAST_Z, least_excess: float = LEAST_EXCESS
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which beats are far longer than their neighbours, and the excess of each beat; ns."""
    neighbours = pd.Series(row.times).rolling(_NEIGHBOURS, center=True, min_periods=1)
    around = neighbours.median()
    typical = around.to_numpy(dtype=np.float64)
    excess = row.times - typical
    spread = max(row.variation, LEAST_SPREAD) * typical
    stands_out = excess > least_z * spread
    is_large = excess > least_excess * typical
    return stands_out & is_large, excess


_REGULAR = 0.7  # of the distances between spikes
_FEWEST_SPIKES = 4


def period(chosen: NDArray[np.bool_]) -> int | None:
    """Return the distance between spikes in beats, if most distances are equal; else None."""
    apart = np.diff(np.flatnonzero(chosen))
    if apart.size + 1 < _FEWEST_SPIKES:
        return None
    median_distance = int(np.median(apart))
    distances = np.abs(apart - median_distance)
    near = distances <= max(0, median_distance // 10)
    if median_distance > 1 and near.mean() >= _REGULAR:
        return median_distance
    return None
