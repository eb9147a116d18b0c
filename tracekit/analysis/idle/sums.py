"""Sums over the table `gaps`: by cause, by party, of chosen gaps; and its longest gaps, in words.

If several devices have gaps, times are the mean over all devices.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.cause import CAUSES, Cause, Party
from tracekit.analysis.idle.whole import whole_gaps
from tracekit.analysis.intervals import Times
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Evidence, longest_first
from tracekit.base import units

_NAMED = 0.2  # share of a gap from which a second cause is named


def devices_of(gaps: pd.DataFrame) -> int:
    """Return the number of devices that have the gaps; one if the table does not name them."""
    if "device" not in gaps:
        return 1
    return max(1, len(gaps["device"].array.categories))


def idle_time(gaps: pd.DataFrame) -> int:
    """Return the idle time of a device, the mean over all devices, in ns."""
    return round(int(gaps["duration"].sum()) / devices_of(gaps))


def loaded_time(loaded: pd.DataFrame) -> int:
    """Return how long there was work to do in the steady window, in ns."""
    return int(loaded["duration"].sum())


def by_cause(gaps: pd.DataFrame) -> dict[Cause, int]:
    """Return the idle time of each cause, in ns, also of those without any; the sum is all of it.

    Of several devices it is the mean.
    """
    category = gaps["cause"].astype("category").cat
    names = [str(name) for name in category.categories]
    sums = np.bincount(category.codes, weights=gaps["duration"], minlength=len(names))
    by_name = dict(zip(names, sums.tolist(), strict=True))
    devices = devices_of(gaps)
    cause_times: dict[Cause, int] = {}
    for cause in Cause:
        cause_times[cause] = round(by_name.get(str(cause), 0) / devices)
    return cause_times


@dataclass(frozen=True, eq=False)
class Gaps:
    """Some of the gaps, in order; ns.

    `lost_times` is the time in each that has the cause for which they were chosen.
    """

    starts: Times
    ends: Times
    lost_times: Times
    devices: int = 1

    @property
    def count(self) -> int:
        """How many there are."""
        return self.starts.size

    @property
    def time(self) -> int:
        """The time lost in all of them, on one device, in ns; the mean over all devices."""
        return round(int(self.lost_times.sum()) / self.devices)

    @property
    def median(self) -> float:
        """The time lost in a typical one, in ns; 0 without any."""
        if not self.lost_times.size:
            return 0.0
        return float(np.median(self.lost_times))


def gaps_of(gaps: pd.DataFrame, *causes: Cause) -> Gaps:
    """Return the gaps in which time was lost by one of the causes."""
    return _lost_in(gaps, _is_among(gaps["cause"], map(str, causes)))


def _lost_in(gaps: pd.DataFrame, chosen: NDArray[np.bool_]) -> Gaps:
    """Return the gaps that have some of the chosen pieces; the time of these is lost."""
    merged_gaps = whole_gaps(gaps)
    place, lost_times = merged_gaps.time_in(chosen)
    return Gaps(merged_gaps.starts[place], merged_gaps.ends[place], lost_times, devices_of(gaps))


def idle_of_unknown_waits(gaps: pd.DataFrame) -> int:
    """Return the idle time on ways back for which it is unknown whether the host waited, in ns.

    Of several devices it is the mean.
    """
    back = (gaps["party"] == str(Party.WAY_BACK)) & (gaps["waited"] == "unknown")
    return round(int(gaps.loc[back, "duration"].sum()) / devices_of(gaps))


def by_party(gaps: pd.DataFrame, loaded: pd.DataFrame, loop: Loop) -> dict[Party, int]:
    """Return the time of the loop that each party holds, in ns; the sum is all of the loop.

    Of several devices it is the mean.
    """
    lengths = gaps["duration"].to_numpy(np.int64)
    devices = devices_of(gaps)
    party_times: dict[Party, int] = {}
    for party in Party:
        is_of_party = _is_among(gaps["party"], (str(party),))
        party_times[party] = round(int(lengths[is_of_party].sum()) / devices)
    load = loaded_time(loaded)
    party_times[Party.WORKS] = load - sum(party_times.values())
    party_times[Party.PAUSE] = loop.length - load
    return party_times


def gaps_of_waits(gaps: pd.DataFrame, *waited: str) -> Gaps:
    """Return the gaps whose host waited ("yes"), did not ("no"), or may have ("unknown").

    Only gaps with time on the way back, or in the host's time, count; all of each is lost.
    """
    merged_gaps = whole_gaps(gaps)
    parties = (str(Party.WAY_BACK), str(Party.HOST))
    candidates, _ = merged_gaps.time_in(_is_among(gaps["party"], parties))
    candidates_waited = gaps["waited"].take(merged_gaps.first_rows[candidates])
    chosen = candidates[_is_among(candidates_waited, waited)]
    starts = merged_gaps.starts[chosen]
    ends = merged_gaps.ends[chosen]
    return Gaps(starts, ends, ends - starts, devices_of(gaps))


def host_time_without_wait(gaps: pd.DataFrame) -> Gaps:
    """Return the gaps in which the host had not waited; its time in each is lost."""
    of_host = _is_among(gaps["party"], (str(Party.HOST),))
    without_wait = _is_among(gaps["waited"], ("no",))
    return _lost_in(gaps, of_host & without_wait)


def _is_among(column: pd.Series, names: Iterable[str]) -> NDArray[np.bool_]:
    """Return which values of a column of few names are among the names."""
    cells = column.array
    if not isinstance(cells, pd.Categorical):
        cells = pd.Categorical(cells)
    chosen_names = set(names)
    is_chosen = [category in chosen_names for category in cells.categories]
    return np.array([*is_chosen, False])[cells.codes]  # the code of a null is -1


def longest_gaps(gaps: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the longest gaps, longest first, at most twenty, each with its causes in words."""
    merged_gaps = whole_gaps(gaps)
    causes = gaps["cause"].astype("category").array
    evidence: list[Evidence] = []
    for number in longest_first(merged_gaps.ends - merged_gaps.starts):
        rows = merged_gaps.rows_of(number)
        lengths_by_cause = dict.fromkeys(Cause, 0)
        for cause, length in zip(causes[rows], merged_gaps.lengths[rows].tolist(), strict=True):
            lengths_by_cause[Cause(cause)] += length
        start = int(merged_gaps.starts[number])
        length = sum(lengths_by_cause.values())
        words = _words(lengths_by_cause, length)
        evidence.append(Evidence("gpu_intervals", start, start + length, words))
    return tuple(evidence)


def _words(lengths_by_cause: dict[Cause, int], length: int) -> str:
    """Name the cause of a gap, and the second one if it matters, with their shares of the gap."""
    ranked = sorted(lengths_by_cause, key=lambda cause: -lengths_by_cause[cause])
    first_cause, second = ranked[:2]
    if lengths_by_cause[second] < _NAMED * length:
        return CAUSES[first_cause]
    first_share = units.percent(lengths_by_cause[first_cause] / length)
    second_share = units.percent(lengths_by_cause[second] / length)
    return f"{CAUSES[first_cause]} {first_share}, {CAUSES[second]} {second_share}"
