"""Repetition in a row of command buffers, without any help of the program.

The row is split into groups after each pause of the host that is far longer than between other
command buffers, or after each wait for all of its work. Iterations are similar groups, or the
shortest row of unlike groups that repeats; without any split, the shortest row of unlike command
buffers. Groups are compared by the number of their intervals, by their device time and by the pause
after them. The repetition is one stretch: of two loops in a row only the one with more device work
counts, and a load before the loop, which differs from it, does not belong to its iterations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import FOREVER, NEVER, Times
from tracekit.analysis.rounds import GroupRow, find_begin, find_round

FEWEST = 8
"""Fewer repetitions than this do not make a loop."""
OF_WORK = 0.5
"""The share of all device time that iterations have to hold."""
_ALIKE = 0.7  # of the groups from the first iteration to the last
_MOSTLY = 0.6  # share of the groups that also have similar pauses after them
_CLEARER = 0.15  # share by which a longer row must be more alike than single groups
_WITHIN = 0.25  # share by which device times of similar groups may differ
_APART = 3.0  # ratio of a pause that splits to one that does not
_SOMEWHAT = 1.5  # the same of pauses that split if nothing else does
_SEVERAL = 0.5  # share of the pauses that are longer in groups of two command buffers and more
_BRIEF = 10_000  # ns: shorter pauses count as none
_LONGEST = 256  # groups of one iteration
_SAMPLE = 8192  # groups in which the length of a row is searched
_LEVEL = 0.5  # share by which levels before and after a break may differ within one loop
_LOOK = 8  # rows on both sides of a break, for comparison
_FAR = 2.6  # ratio to the usual distance of neighbours: four deviations of two medians of 8
_SIGMAS = 3.5  # deviations, from which two shares differ by more than chance

Flags = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _BufferGroups:
    """Command buffers in groups; `pauses` (ns) are the host's after each, -1 for the last."""

    first_rows: Places
    pieces: Times
    busy: Times
    pauses: Times
    split: bool

    @property
    def number(self) -> int:
        return self.first_rows.size

    def sample(self) -> "_BufferGroups":
        """Return a sample from the middle, or all groups if they are few."""
        begin = max(0, (self.number - _SAMPLE) // 2)
        part = slice(begin, begin + _SAMPLE)
        pieces = self.pieces[part]
        busy = self.busy[part]
        pauses = self.pauses[part]
        return _BufferGroups(self.first_rows[part], pieces, busy, pauses, self.split)

    def find_alike(self, apart: int, *, pauses: bool = True) -> Flags:
        """Return for each group whether it is like the one at the distance `apart` after it."""
        ways = (self.pieces, self.busy, np.maximum(self.pauses, 0) + _BRIEF)
        pieces, busy, behind = ((column[:-apart], column[apart:]) for column in ways)
        matches = pieces[0] == pieces[1]
        distances = np.abs(busy[0] - busy[1])
        matches &= distances <= _WITHIN * np.maximum(*busy)
        if self.split and pauses:
            matches &= (np.maximum(*behind) <= _APART * np.minimum(*behind)) | (
                self.pauses[apart:] < 0
            )
        return matches

    def rows(self, length: int) -> tuple[Times, Times]:
        """Return pieces and device time of each row of `length` groups, from any group on."""
        sums = (np.concatenate(([0], np.cumsum(column))) for column in (self.pieces, self.busy))
        pieces, busy = (column[length:] - column[:-length] for column in sums)
        return pieces, busy


@dataclass(frozen=True, eq=False)
class Repeats:
    """Iterations: the start and end of each (ns), and the number of groups in one.

    `share` is the part of the groups from the first to the last that belong to iterations of the
    usual number of intervals; `profile` the usual device time (ns) of each group of an iteration.
    """

    starts: Times
    ends: Times
    groups: int
    share: float
    profile: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of iterations."""
        return self.starts.size


def repeating(timeline: pd.DataFrame) -> Repeats | None:
    """Return the groups of command buffers that repeat; None without any."""
    if len(timeline) < FEWEST:
        return None
    begin_times, committed, completed = (
        timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)
        for name in ("encoding_start", "committed", "completed")
    )
    started = timeline["started"].to_numpy(dtype=np.int64)
    end_times = timeline["ended"].to_numpy(dtype=np.int64)
    busy = timeline["busy"].to_numpy(dtype=np.int64)
    pieces = timeline["encoders"].to_numpy(dtype=np.int64)
    known_times = np.where(committed == NEVER, started, committed)
    begin_times = np.where(begin_times == NEVER, known_times, begin_times)
    work_ends = np.where(committed == NEVER, end_times, committed)
    pauses = np.maximum(begin_times[1:] - work_ends[:-1], 0)
    latest_times = np.maximum(end_times, completed)
    reported = np.maximum.accumulate(latest_times)
    is_after_reports = begin_times[1:] >= reported[:-1]
    for splits in _splits(pauses, is_after_reports):
        groups = _group_buffers(splits, pieces, busy, pauses)
        first_groups, length = _iterations(groups)
        parts = _find_inner_splits(groups, first_groups, pieces) if length == 1 else splits
        if (parts & ~splits).any():
            groups = _group_buffers(splits | parts, pieces, busy, pauses)
            first_groups, length = _iterations(groups)
        group_numbers = first_groups[:, np.newaxis] + np.arange(length)
        members = group_numbers.ravel()
        if first_groups.size < FEWEST or groups.busy[members].sum() < OF_WORK * busy.sum():
            continue
        next_firsts = np.append(groups.first_rows[1:], len(timeline))
        last_rows = next_firsts - 1
        starts = begin_times[groups.first_rows[first_groups]]
        ends = reported[last_rows[first_groups + length - 1]]
        follows = first_groups[1:] == first_groups[:-1] + length
        ends[:-1] = np.where(follows, starts[1:], ends[:-1])
        # An iteration that waits for work from before the loop includes that work's time.
        first_row = groups.first_rows[first_groups[0]]
        load_end = int(np.max(end_times[:first_row], initial=NEVER))
        skipped_iterations = int(np.searchsorted(starts, load_end))
        skipped_iterations *= starts.size - skipped_iterations >= FEWEST
        ends = np.maximum(ends, starts + 1)
        iteration_times = groups.busy[members].reshape(-1, length)
        median_times = np.median(iteration_times, axis=0)
        rounded_times = np.rint(median_times).astype(np.int64)
        profile = tuple(rounded_times.tolist())
        share = _share(groups, first_groups, length)
        return Repeats(
            starts[skipped_iterations:],
            ends[skipped_iterations:],
            length,
            share,
            profile,
        )
    return None


def _share(groups: _BufferGroups, first_groups: Places, length: int) -> float:
    """Return the share of the groups that belong to iterations with the usual number of pieces."""
    piece_counts = groups.rows(length)[0][first_groups]
    common_count = np.bincount(piece_counts).max()
    span_length = first_groups[-1] + length - first_groups[0]
    return float(common_count * length / span_length)


def begins_of(timeline: pd.DataFrame) -> Times:
    """Return when the host began each command buffer, or the earliest known time after that."""
    begin_times = (
        timeline["encoding_start"].fillna(timeline["committed"]).fillna(timeline["started"])
    )
    return begin_times.to_numpy(dtype=np.int64)


def reported_ends(timeline: pd.DataFrame, starts: Times, ends: Times) -> Times:
    """Return when all work that began in each stretch was reported complete."""
    start_times = timeline["started"].to_numpy(dtype=np.int64)
    known_ends = timeline["completed"].fillna(timeline["ended"])
    done = known_ends.to_numpy(dtype=np.int64)
    end_times = timeline["ended"].to_numpy(np.int64)
    latest = np.maximum.accumulate(np.maximum(done, end_times))
    last_rows = np.searchsorted(start_times, ends, side="left") - 1
    latest_before = latest[np.maximum(last_rows, 0)]
    return np.where(last_rows >= 0, latest_before, starts)


def _group_buffers(splits: Flags, pieces: Times, busy: Times, pauses: Times) -> _BufferGroups:
    split_places = np.flatnonzero(splits) + 1
    first_rows = np.concatenate(([0], split_places))
    next_firsts = np.append(first_rows[1:], pieces.size)
    last_rows = next_firsts - 1
    piece_sums = np.add.reduceat(pieces, first_rows)
    took = np.add.reduceat(busy, first_rows)
    group_pauses = np.append(pauses, -1)[last_rows]
    return _BufferGroups(first_rows, piece_sums, took, group_pauses, bool(splits.any()))


def _find_inner_splits(groups: _BufferGroups, first_groups: Places, pieces: Times) -> Flags:
    """Return the additional splits of groups that hold several iterations without a pause.

    Such groups follow a distinct pause: the work that had been submitted ahead is exhausted by
    then.
    """
    no_splits = np.zeros(pieces.size - 1, bool)
    if not first_groups.size:
        return no_splits
    group_pieces = groups.pieces[first_groups]
    usual_pieces = int(np.bincount(group_pieces).argmax())
    is_multiple = groups.pieces % usual_pieces == 0
    holds_several = (groups.pieces > usual_pieces) & is_multiple
    sizes = np.diff(np.append(groups.first_rows, pieces.size))
    sums = np.cumsum(pieces)
    sums_before = sums[groups.first_rows] - pieces[groups.first_rows]
    pieces_before = np.repeat(sums_before, sizes)
    is_in_several = np.repeat(holds_several, sizes)
    is_whole = (sums - pieces_before) % usual_pieces == 0
    return (is_in_several & is_whole)[:-1]


def _splits(pauses: Times, drained: Flags) -> Iterator[Flags]:
    """Yield the ways to split command buffers: by long pauses, by waits, not at all.

    The last one is by pauses that are only somewhat longer than the others.
    """
    ordered = np.sort(pauses + _BRIEF)
    all_ratios = ordered[1:] / ordered[:-1]
    ratios = all_ratios[: max(0, ordered.size - FEWEST)]
    ratio = float(np.max(ratios, initial=0.0))
    are_longer = np.zeros(pauses.size, bool)
    if ratio >= _SOMEWHAT:
        longest_pause = ordered[int(np.argmax(ratios))]
        are_longer = pauses + _BRIEF > longest_pause
    if ratio >= _APART:
        yield are_longer
    if drained.sum() >= FEWEST:
        yield drained
    yield np.zeros(pauses.size, bool)
    if ratio < _APART and 0 < are_longer.mean() <= _SEVERAL:
        yield are_longer


def _iterations(groups: _BufferGroups) -> tuple[Places, int]:
    """Return the first group of each iteration, and the number of groups per iteration."""
    no_iterations = np.empty(0, np.intp), 1
    if groups.number < FEWEST:
        return no_iterations
    alike_groups = groups.find_alike(1)
    if alike_groups.mean() >= _MOSTLY:
        alike_groups = groups.find_alike(1, pauses=False)  # a few distinct pauses do not matter
    stretch = _stretch(groups, alike_groups, 1)
    if stretch is not None:
        # Without splits and with uniform groups, the beginning of an iteration is unknown.
        return (np.arange(*stretch), 1) if groups.split else no_iterations
    length = _length(groups.sample()) or _round(groups.sample())
    if length is not None:
        alike_groups = groups.find_alike(length)
        stretch = _stretch(groups, alike_groups, length)
        if stretch is not None:
            return _in_rows(groups, alike_groups, *stretch, length), length
    if not groups.split:
        return no_iterations
    usual_pieces = np.bincount(groups.pieces).argmax()
    stretch = _mostly(groups.pieces == usual_pieces)
    if stretch[1] - stretch[0] >= FEWEST:
        return (np.arange(*stretch), 1)
    return no_iterations


def _length(groups: _BufferGroups) -> int | None:
    """Return the length of the shortest row that repeats clearly; None without one."""
    single = groups.find_alike(1)
    longest_length = min(_LONGEST, groups.number // FEWEST)
    for length in range(2, longest_length + 1):
        alike_groups = groups.find_alike(length)
        begin, end = _mostly(alike_groups)
        if end - begin + length < FEWEST * length:
            continue
        chance = _SIGMAS * np.sqrt(0.5 / (end - begin))  # for two shares of one half
        alike_share = alike_groups[begin:end].mean()
        single_share = single[begin : end + length - 1].mean()
        by = alike_share - single_share
        if by > max(_CLEARER, chance):
            return length
    return None


def _round(groups: _BufferGroups) -> int | None:
    """Return the length of a row of unlike groups that recurs, even if most of it is alike."""
    group_round = find_round(_make_group_row(groups, slice(None)))
    if group_round is None or group_round.times < FEWEST:
        return None
    return group_round.length


def _make_group_row(groups: _BufferGroups, part: slice) -> GroupRow:
    """Return the values by which groups are compared, with the pause before each."""
    earlier_pauses = np.concatenate(([0], groups.pauses[:-1]))
    pauses = earlier_pauses[part]
    pieces = groups.pieces[part]
    requests = np.zeros(pieces.size, np.int64)
    return GroupRow(pieces, groups.busy[part], pauses, requests)


def _stretch(groups: _BufferGroups, alike_groups: Flags, length: int) -> tuple[int, int] | None:
    """Return the stretch of groups that repeats, of one loop; None without one.

    If a row of groups differs from the one after it, rows before and after that break are compared:
    an outlier iteration has similar ones on both sides, the break between two loops has not.
    """
    padded = np.concatenate(([False], alike_groups, [False]))
    turns = np.flatnonzero(np.diff(padded.astype(np.int8)))
    begins = turns[::2]
    ends = turns[1::2]
    if not begins.size:
        return None
    pieces, busy = groups.rows(length)
    tail_starts = np.maximum(ends[:-1] - _LOOK, 0)
    tail = _medians(busy, tail_starts, ends[:-1])
    head_ends = np.minimum(begins[1:] + _LOOK, busy.size)
    head = _medians(busy, begins[1:], head_ends)
    spread = 0.0
    if busy.size > 1:
        spread = float(np.median(np.abs(np.diff(busy))))
    level_distances = np.abs(tail - head)
    least_distances = np.maximum(_LEVEL * np.maximum(tail, head), _FAR * spread)
    same_loops = level_distances <= least_distances
    pieces_before = pieces[ends[:-1] - 1]
    pieces_behind = pieces[begins[1:]]
    same_loops &= pieces_before == pieces_behind
    first_begin = int(begins[0])
    first_end = int(ends[0])
    first_length = int(ends[0] - begins[0])
    stretches = [[first_begin, first_end, first_length]]
    runs = zip(begins[1:].tolist(), ends[1:].tolist(), same_loops.tolist(), strict=True)
    for begin, end, is_same_loop in runs:
        last_stretch = stretches[-1]
        if is_same_loop and begin - last_stretch[1] <= last_stretch[2]:
            last_stretch[1:] = [end, last_stretch[2] + end - begin]
        else:
            stretches.append([begin, end, end - begin])
    summed_busy = np.cumsum(groups.busy)
    sums = np.concatenate(([0], summed_busy))
    begin, end, alike_ones = max(stretches, key=lambda run: sums[run[1] + length] - sums[run[0]])
    if alike_ones < _ALIKE * (end - begin) or end - begin + length < FEWEST * length:
        return None
    stretch_work = sums[end + length] - sums[begin]
    if stretch_work < OF_WORK * sums[-1]:
        return None
    return begin, end + length


def _medians(values: Times, begins: Places, ends: Places) -> NDArray[np.float64]:
    """Return the median of the values in each stretch [begin, end) of at most `_LOOK` of them."""
    first_places = begins[:, np.newaxis]
    places = first_places + np.arange(_LOOK)
    in_stretch = places < ends[:, np.newaxis]
    stretch_values = values[np.minimum(places, values.size - 1)]
    values = np.where(in_stretch, stretch_values, FOREVER)
    values.sort(axis=1)
    numbers = ends - begins
    rows = np.arange(begins.size)
    lower_middles = values[rows, (numbers - 1) // 2]
    upper_middles = values[rows, numbers // 2]
    return (lower_middles + upper_middles) / 2


def _mostly(flags: Flags) -> tuple[int, int]:
    """Return the stretch in which most flags are true: the one with the greatest score.

    A true flag scores 1, a false one so much less that a stretch with a sum of zero has the share
    `_ALIKE` of true ones.
    """
    penalty = -_ALIKE / (1 - _ALIKE)
    scores = np.where(flags, 1.0, penalty)
    summed_scores = np.cumsum(scores)
    sums = np.concatenate(([0.0], summed_scores))
    lowest_sums = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - lowest_sums))
    lowest_place = int(np.argmin(sums[: end + 1]))
    return lowest_place, end


def _in_rows(
    groups: _BufferGroups, alike_groups: Flags, begin: int, end: int, length: int
) -> Places:
    """Return the beginnings of rows of `length` groups, the longest pause before each."""
    group_row = _make_group_row(groups, slice(begin, end))
    position = begin + find_begin(group_row, length)
    row_begins = list[int]()
    while position + length <= end:
        row = (
            alike_groups[max(0, position - length) : position]
            if row_begins
            else alike_groups[position : position + length]
        )
        if row.mean() >= _ALIKE:
            row_begins.append(position)
            position += length
        else:
            position += 1
    return np.array(row_begins, np.intp)
