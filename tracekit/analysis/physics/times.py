"""Laws that a row keeps by itself, or together with other rows of its own table."""

import numpy as np

from tracekit.analysis.intervals import FOREVER, NEVER, Times
from tracekit.analysis.physics.laws import Cost, Flags
from tracekit.analysis.physics.rows import ExaminedTable, Places, names_of, times_of

SLACK = 0.1
"""Share of the recording by which it may be longer than its table of contents says."""
_LAG = 1_000_000_000
"""Time in ns until all buffers are empty. In real recordings the last device interval ends 0.3 to
45 ms before the end; a row that is gone wrong lies anywhere, so that few are missed."""
_OVER = 10.0
"""Percent over 100 that a sampled share may reach: readings slightly above 100 occur, as the count
and the time for which it was counted are not read at one moment."""
_HEAVY = 1.5
"""Multiple of the time in which a thread was sampled: samples may bunch, but not weigh more."""
_SHORT = 1 << 16  # lanes: fewer are sorted by their digits, in a tenth of the time
_ROUNDED = 1_000  # ns that states may share: a trace's clock ticks every 42 ns, others more slowly
_LANE = ("device", "channel", "depth", "pid")
_ONCE = ("gpu_intervals", "submissions", "encoders", "completions", "commits")
"""Tables in which two equal rows repeat one event: each row has the id of its subject."""


def judge_times(rows: ExaminedTable, recorded: int | None) -> None:
    """Hold the times of a table's rows against each other and the recording's length, ns."""
    device = rows.is_of_the_device
    length = rows.end - rows.start
    cost = Cost.LENGTH if rows.table == "gpu_intervals" else Cost.ROW
    rows.accuse("ends-before-start", length < 0, excess=-length, cost=cost)
    if rows.table == "gpu_intervals":
        is_empty = times_of(rows.frame, "duration") == 0
        rows.accuse("no-length", device & is_empty, rare_only=True)
    is_early = device & (rows.start < 0)
    rows.accuse("before-recording", is_early, excess=-rows.start, rare_only=True)
    _judge_zeros(rows, device)
    if recorded is not None:
        _judge_length(rows, device, recorded, cost)
    if rows.table in _ONCE:
        _judge_repeats(rows)


def _judge_zeros(rows: ExaminedTable, device: Flags) -> None:
    """Find rows at 0: a clock that is read is there once, and a table of states begins there.

    Samples of counters, the only tables with a column `percentage`, share their times.
    """
    is_a_state = rows.table in {"gpu_performance_states", "gpu_states"}
    if is_a_state or "percentage" in rows.frame:
        return
    starts_at_zero = rows.start == 0
    zero = device & starts_at_zero & rows.credible
    if np.count_nonzero(zero) > 1:
        rows.accuse("zero-time", zero, rare_only=True)


def _judge_length(rows: ExaminedTable, device: Flags, recorded: int, cost: Cost) -> None:
    slack_time = recorded * (1 + SLACK)
    limit = round(slack_time) + _LAG
    is_late = device & (rows.start > limit)
    rows.accuse("after-recording", is_late, excess=rows.start - recorded, rare_only=True)
    length = rows.end - rows.start
    longer = device & (length > limit)
    excess = length - recorded
    rows.accuse("longer-than-recording", longer, excess=excess, cost=cost, rare_only=True)


def _judge_repeats(rows: ExaminedTable) -> None:
    """Find rows that repeat the one before them, in the order of their times."""
    start = rows.start
    end = rows.end
    order = None
    is_earlier = start[1:] < start[:-1]
    starts_with_it = start[1:] == start[:-1]
    starts_alike = starts_with_it
    ends_earlier = starts_alike & (end[1:] < end[:-1])
    if (is_earlier | ends_earlier).any():
        order = np.lexsort((end, start))
        start = start[order]
        end = end[order]
    ends_alike = end[1:] == end[:-1]
    matches = (start[1:] == start[:-1]) & ends_alike
    if not matches.any():
        return
    if order is None:
        order = np.arange(start.size)
    # Only the few rows that share their times are compared cell by cell.
    earlier_rows = order[:-1][matches]
    later_rows = order[1:][matches]
    pairs = np.unique(np.concatenate((earlier_rows, later_rows)))
    has_id = rows.buffers[pairs] != 0
    paired_rows = rows.frame.iloc[pairs]
    is_equal = paired_rows.duplicated().to_numpy(np.bool_)
    repeats = np.zeros(rows.start.size, np.bool_)
    repeats[pairs] = is_equal & has_id
    rows.accuse("duplicate", repeats)


def judge_lanes(rows: ExaminedTable) -> None:
    """Find intervals during which the next one on their lane starts.

    A lane is a depth on a channel of a device, for one process. Channels run in parallel, and so
    does work on one channel, on lanes of its own: Instruments puts overlapping intervals on
    different depths. In the real exports 203 of 11,838 intervals overlap another on their channel,
    and none overlaps one on its lane. Of two, the one that covers more starts of others loses its
    length. If many rows overlap, a depth is not a lane, and nothing is reported.
    """
    if not rows.has("depth", "channel"):
        return
    has_depth = rows.frame["depth"].notna().to_numpy(np.bool_)
    usable = rows.credible & rows.is_of_the_device & has_depth
    places = np.flatnonzero(usable)
    steps = np.diff(rows.start[places])
    if (steps < 0).any():
        places = places[np.argsort(rows.start[places], kind="stable")]
    start = rows.start[places]
    end = rows.end[places]
    overlaps = np.zeros(places.size, np.bool_)
    latest_ends = np.maximum.accumulate(end)[:-1]
    overlaps[1:] = start[1:] < latest_ends
    if not overlaps.any():
        return
    # Only intervals that share time with any other count: those that begin in another's time, and
    # those in whose time the next one begins.
    starts_before = start[1:] < end[:-1]
    overlaps[:-1] |= starts_before
    places = places[overlaps]
    lane = names_of(rows.frame, _LANE, places)
    sort_keys = lane
    if lane.max() < _SHORT:
        sort_keys = lane.astype(np.uint16)
    order = np.argsort(sort_keys, kind="stable")
    places = places[order]
    lane = lane[order]
    start = rows.start[places]
    end = rows.end[places]
    is_same_lane = lane[1:] == lane[:-1]
    overlaps_next = (start[1:] < end[:-1]) & is_same_lane
    if not overlaps_next.any():
        return
    covers, until = _covering(lane, start, end)
    broken = np.zeros(rows.start.size, np.bool_)
    broken[places] = covers
    next_start = np.zeros(rows.start.size, np.int64)
    next_start[places] = until
    population = int(np.count_nonzero(usable))
    rows.accuse(
        "two-at-once",
        broken,
        excess=rows.end - next_start,
        cost=Cost.LENGTH,
        rare_only=True,
        population=population,
    )


def _covering(lane: Times, start: Times, end: Times) -> tuple[Flags, Times]:
    """Return which intervals cover starts of others on their lane, and when the next one starts.

    The rows are ordered by lane and start. Those that cover most go first: the rows that they cover
    are mostly right.
    """
    pending = np.ones(start.size, np.bool_)
    until = end.copy()
    # Lanes are laid out one behind the other, so that one search counts starts in all of them.
    last_start = int(start.max())
    lane_length = last_start - int(start.min()) + 2
    offset = lane * lane_length
    offset_starts = start + offset
    limited_end = np.minimum(end, last_start + 1)
    offset_ends = limited_end + offset
    for threshold in (3, 2, 1):
        places = np.flatnonzero(pending)
        number = np.arange(places.size)
        started_counts = np.searchsorted(offset_starts[places], offset_ends[places])
        counts = started_counts - number - 1
        broken = counts >= threshold
        next_numbers = np.minimum(number + 1, places.size - 1)
        following = places[next_numbers]
        next_starts = start[following]
        until[places[broken]] = next_starts[broken]
        pending[places[broken]] = False
    return ~pending, until


def next_starts(rows: ExaminedTable, places: Places) -> Times:
    """Return when the next interval on the lane of each of the rows starts, FOREVER without one."""
    ordered = np.flatnonzero(rows.credible)
    lane = names_of(rows.frame, _LANE, ordered)
    ordered_starts = rows.start[ordered]
    order = np.lexsort((ordered_starts, lane))
    ordered = ordered[order]
    lane = lane[order]
    following = np.full(rows.start.size, FOREVER)
    same_lane = lane[1:] == lane[:-1]
    earlier_rows = ordered[:-1][same_lane]
    later_rows = ordered[1:][same_lane]
    following[earlier_rows] = rows.start[later_rows]
    return following[places]


def judge_states(rows: ExaminedTable) -> None:
    """Find states of a device that share time with the next; of two the longer is left out."""
    places = np.flatnonzero(rows.credible)
    device = names_of(rows.frame, ("device",), places)
    place_starts = rows.start[places]
    order = np.lexsort((place_starts, device))
    places = places[order]
    device = device[order]
    if places.size < 2:  # noqa: PLR2004  one shares with none
        return
    leading = places[:-1]
    trailing = places[1:]
    least_ends = rows.start[trailing] + _ROUNDED
    ends_later = rows.end[leading] > least_ends
    is_same_device = device[1:] == device[:-1]
    overlaps = ends_later & is_same_device
    lengths = rows.end - rows.start
    leading_is_longer = lengths[leading] >= lengths[trailing]
    longer = np.where(leading_is_longer, leading, trailing)[overlaps]
    broken = np.zeros(rows.start.size, np.bool_)
    broken[longer] = True
    excess = np.zeros(rows.start.size, np.int64)
    overlap_times = rows.end[leading] - rows.start[trailing]
    excess[longer] = overlap_times[overlaps]
    rows.accuse("two-states-at-once", broken, excess=excess, rare_only=True)


def judge_shares(rows: ExaminedTable) -> None:
    """Find samples of counters in percent that are below 0 or far above 100."""
    if not rows.has("percentage", "value"):
        return
    flags = rows.frame["percentage"].fillna(value=False)
    percentage = flags.to_numpy(np.bool_)
    value = rows.frame["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    is_beyond = (value > 100 + _OVER) | (value < 0)
    outside = percentage & is_beyond
    population = int(np.count_nonzero(percentage))
    rows.accuse("over-100-percent", outside, population=population, rare_only=True)


def judge_samples(rows: ExaminedTable) -> None:
    """Find threads whose samples weigh more than the time in which they were taken."""
    if not rows.has("tid", "weight") or not rows.start.size:
        return
    weight = times_of(rows.frame, "weight")
    row_places = np.arange(rows.start.size)
    thread = names_of(rows.frame, ("pid", "tid"), row_places)
    has_thread = rows.frame["tid"].notna().to_numpy(np.bool_)
    is_weighed = rows.credible & (weight != NEVER) & has_thread
    places = np.flatnonzero(is_weighed)
    if not places.size:
        return
    thread = thread[places]
    weight = weight[places]
    time = rows.start[places]
    number = int(thread.max()) + 1
    sums = np.bincount(thread, weights=weight, minlength=number)
    latest_time = np.iinfo(np.int64).max
    begin = np.full(number, latest_time)
    earliest_time = np.iinfo(np.int64).min
    finish = np.full(number, earliest_time)
    heaviest = np.zeros(number, np.int64)
    np.minimum.at(begin, thread, time)
    np.maximum.at(finish, thread, time)
    np.maximum.at(heaviest, thread, weight)
    # A sample covers time around it: the first and the last reach beyond both ends.
    spans_of_threads = np.where(finish >= begin, finish - begin, 0)
    sampled_times = spans_of_threads + 2 * heaviest
    is_heavy = sums > _HEAVY * sampled_times
    broken = np.zeros(rows.start.size, np.bool_)
    broken[places] = is_heavy[thread]
    rows.accuse("more-than-wall-time", broken)
