"""Rounds: groups of unlike work that recur in the same order.

Training that validates at every twentieth step makes rounds of twenty-one or more groups; a model
that waits for each of its 48 layers makes rounds of 48, of which one ends with longer work. If a
group differs from the one before it, the round's length is the distance at which the same change
recurs.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times
from tracekit.analysis.modes import spread

FEWEST = 8
"""Fewer rounds than this do not count as iterations."""
LEAST = 4
"""Fewer rounds than this do not count as a repetition at all."""
_WITHIN = 0.25  # share by which the sizes of similar groups may differ
_CHANGES = 2  # in each round, at least: to another kind of group and back
_AGAIN = 0.8  # share of the changes that recur one round later
_CLEARER = 0.4  # share by which more of them recur than at other distances
_LOWER = 0.25  # quantile of all distances, low because many are multiples of a short round
_FAR = 1.5  # ratio to the usual size above which a group is unlike
_CLEAR = 5.0  # robust deviations from the usual size
# The sizes of far smaller, usual and far larger groups: no two of them are alike.
_SMALL = 1
_USUAL = 10
_LARGE = 100
_STANDS_OUT = 1.25  # ratio to the next longest pause
_MOST = 2048  # groups of one round
_LOOKED_AT = 24  # distances that show the chance share of recurring changes
_CANDIDATES = 256  # distances that are tried, the shortest first
_SAMPLE = 768  # changes that are searched for the length

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Round:
    """A row of groups that repeats: its number of groups, its first group, and how many times."""

    length: int
    begin: int
    times: int


@dataclass(frozen=True, eq=False)
class GroupRow:
    """The compared values: each group's pieces and its size, as device time or host time (ns).

    `pauses` (ns) are the host's before each; the longest one marks the beginning of a round. Groups
    of different requests are not alike.
    """

    pieces: Times
    size: Times
    pauses: Times
    request: Times

    def are_alike(self, places: Times, other_places: Times) -> Flags:
        """Return for each pair of groups, by their places, whether they are alike."""
        sizes = self.size[places]
        other_sizes = self.size[other_places]
        larger_sizes = np.maximum(sizes, other_sizes)
        is_similar = np.abs(sizes - other_sizes) <= _WITHIN * larger_sizes
        has_same_pieces = self.pieces[places] == self.pieces[other_places]
        is_same_request = self.request[places] == self.request[other_places]
        return is_similar & has_same_pieces & is_same_request

    def find_alike(self, apart: int) -> Flags:
        """Return for each group whether it is like the one at the distance `apart` after it."""
        places = np.arange(self.size.size - apart)
        return self.are_alike(places, places + apart)

    def coarse(self) -> "GroupRow":
        """Return the groups with three sizes only: usual, far larger, far smaller."""
        median_size = float(np.median(self.size))
        clear_distance = _CLEAR * spread(self.size)
        least_large = max(_FAR * median_size, median_size + clear_distance)
        large = self.size > least_large
        most_small = min(median_size / _FAR, median_size - clear_distance)
        small = self.size < most_small
        small_or_usual = np.where(small, _SMALL, _USUAL)
        sizes = np.where(large, _LARGE, small_or_usual).astype(np.int64)
        return replace(self, size=sizes)


def find_round(groups: GroupRow) -> Round | None:
    """Return the shortest row of unlike groups that recurs; None without one.

    If groups of one kind vary, only those with a far from usual size count.
    """
    return _find(groups) or _find(groups.coarse())


def _find(groups: GroupRow) -> Round | None:
    number = groups.size.size
    is_change = ~groups.find_alike(1)
    is_same_request = np.diff(groups.request) == 0
    changes = np.flatnonzero(is_change & is_same_request) + 1
    if number < 2 * LEAST or changes.size < 2 * (LEAST - 1):
        return None
    length = _find_length(groups, changes[:_SAMPLE])
    if length is None or changes.size < _AGAIN * _CHANGES * (number // length):
        return None
    begin = find_begin(groups, length)
    times = (number - begin) // length
    if times >= LEAST:
        return Round(length, begin, times)
    return None


def _find_length(groups: GroupRow, changes: Times) -> int | None:
    """Return the shortest distance at which most changes clearly recur; None without one.

    First the distances of all pairs of changes are counted: a distance is likely if nearly as many
    pairs have it as there are changes that could recur. Then the share of changes that recur at
    each likely one, the shortest first, is compared with the share at distances taken evenly.
    """
    number = groups.size.size
    maximum_length = min(_MOST, number // LEAST)
    if maximum_length <= 1:
        return None
    later_changes = changes[np.newaxis, :]
    earlier_changes = changes[:, np.newaxis]
    pair_distances = later_changes - earlier_changes
    is_in_reach = (pair_distances > 1) & (pair_distances <= maximum_length)
    counts = np.bincount(pair_distances[is_in_reach], minlength=maximum_length + 1)
    distances = np.arange(2, maximum_length + 1)
    pair_counts = counts[2:]
    last_change = int(changes[-1])
    sample_end = min(number, last_change + 1)
    change_counts = np.searchsorted(changes, sample_end - distances)
    least_counts = _AGAIN * np.maximum(change_counts, 1)
    likely = distances[pair_counts >= least_counts]
    exact_lengths = np.linspace(2, maximum_length, _LOOKED_AT)
    even_distances = np.unique(exact_lengths.astype(np.int64))
    shares = [_measure_recurring(groups, changes, apart) for apart in even_distances.tolist()]
    chance_shares = np.array(shares)
    usual_share = float(np.quantile(chance_shares, _LOWER))
    minimum_share = max(_AGAIN, usual_share + _CLEARER)
    for length in likely[:_CANDIDATES].tolist():
        if _measure_recurring(groups, changes, length) >= minimum_share:
            return length
    return None


def _measure_recurring(groups: GroupRow, changes: Times, apart: int) -> float:
    """Return the share of the changes that recur at the distance `apart`.

    A change is a group that differs from the one before it. It recurs if both groups are alike to
    those at the distance, and these differ from each other as well.
    """
    has_counterpart = changes + apart < groups.size.size
    compared_changes = changes[has_counterpart]
    before_change = compared_changes - 1
    compared_changes = compared_changes[
        groups.request[before_change] == groups.request[compared_changes + apart]
    ]
    if compared_changes.size < _CHANGES * (LEAST - 1):
        return 0.0
    matches = groups.are_alike(compared_changes - 1, compared_changes - 1 + apart)
    matches &= groups.are_alike(compared_changes, compared_changes + apart)
    goes_on = groups.are_alike(compared_changes - 1 + apart, compared_changes + apart)
    matches &= ~goes_on
    return float(matches.mean())


def find_begin(groups: GroupRow, length: int) -> int:
    """Return the place of the first group of the first round of this length.

    A round begins with the longest pause if that is distinct, else with its longest row of similar
    groups.
    """
    trimmed_size = groups.size.size // length * length
    whole_rounds = groups.pauses[:trimmed_size].reshape(-1, length)
    pauses = np.median(whole_rounds, axis=0)
    ordered = np.sort(pauses)
    second_longest = max(1.0, float(ordered[-2]))
    if ordered[-1] > _STANDS_OUT * second_longest:
        return int(np.argmax(pauses))
    is_change = ~groups.find_alike(1)
    changes = np.flatnonzero(is_change) + 1
    places = np.bincount(changes % length, minlength=length)
    highest_count = float(places.max())
    common = np.flatnonzero(places >= max(1.0, _AGAIN * highest_count))
    if not common.size:
        return int(np.argmax(pauses))
    next_commons = np.append(common, common[0] + length)
    rows = np.diff(next_commons)
    return int(common[int(np.argmax(rows))])
