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
    """Find rows of command buffers that equal an earlier row of the table in every cell."""
    order = _order_by_times(rows)
    start = rows.start[order]
    end = rows.end[order]
    shares_times = (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    if not shares_times.any():
        return
    # Only the few rows that share their times are compared cell by cell.
    candidates = np.union1d(order[:-1][shares_times], order[1:][shares_times])
    cells = rows.frame.iloc[candidates]
    is_equal = cells.duplicated().to_numpy(np.bool_)
    if is_equal.any():
        for name, column in rows.further.items():
            if name not in cells:
                cells = cells.assign(**{name: column.take(candidates)})
        is_equal = cells.duplicated().to_numpy(np.bool_)
    has_id = rows.buffers[candidates] != 0
    repeats = np.zeros(rows.start.size, np.bool_)
    repeats[candidates] = is_equal & has_id
    rows.accuse("duplicate", repeats)


def _order_by_times(rows: ExaminedTable) -> Places:
    """Return the rows in the order of their starts, and of their ends if they start together."""
    starts_earlier = rows.start[1:] < rows.start[:-1]
    starts_together = rows.start[1:] == rows.start[:-1]
    ends_earlier = starts_together & (rows.end[1:] < rows.end[:-1])
    if (starts_earlier | ends_earlier).any():
        return np.lexsort((rows.end, rows.start))
    return np.arange(rows.start.size)


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
    has_depth = rows.cells("depth").notna().to_numpy(np.bool_)
    usable = rows.credible & rows.is_of_the_device & has_depth
    places = _find_overlapping(rows, np.flatnonzero(usable))
    if not places.size:
        return
    lane = names_of(rows, _LANE, places)
    sort_keys = lane
    if lane.max() < _SHORT:
        sort_keys = lane.astype(np.uint16)
    order = np.argsort(sort_keys, kind="stable")
    places = places[order]
    lane = lane[order]
    start = rows.start[places]
    end = rows.end[places]
    is_same_lane = lane[1:] == lane[:-1]
    if not (is_same_lane & (start[1:] < end[:-1])).any():
        return
    covers, until = _find_covering(lane, start, end)
    broken = np.zeros(rows.start.size, np.bool_)
    broken[places] = covers
    next_start = np.zeros(rows.start.size, np.int64)
    next_start[places] = until
    rows.accuse(
        "two-at-once",
        broken,
        excess=rows.end - next_start,
        cost=Cost.LENGTH,
        rare_only=True,
        population=int(np.count_nonzero(usable)),
    )


def _find_overlapping(rows: ExaminedTable, places: Places) -> Places:
    """Return those rows that share time with any other of them, on whichever lane, by start.

    They begin in another's time, or the next one begins in their time. Lanes are compared
    only for these few.
    """
    if (np.diff(rows.start[places]) < 0).any():
        places = places[np.argsort(rows.start[places], kind="stable")]
    start = rows.start[places]
    end = rows.end[places]
    begins_in_another = np.zeros(places.size, np.bool_)
    begins_in_another[1:] = start[1:] < np.maximum.accumulate(end)[:-1]
    holds_next_start = np.zeros(places.size, np.bool_)
    holds_next_start[:-1] = start[1:] < end[:-1]
    return places[begins_in_another | holds_next_start]


def _find_covering(lane: Times, start: Times, end: Times) -> tuple[Flags, Times]:
    """Return which intervals cover starts of others on their lane, and when the next one starts.

    The rows are ordered by lane and start. Those that cover three or more go first, then those that
    cover two of the remaining ones, then one: the rows that one covers are mostly right.
    """
    pending = np.ones(start.size, np.bool_)
    until = end.copy()
    # Lanes are laid out one behind the other, so that one search counts starts in all of them.
    last_start = int(start.max())
    lane_length = last_start - int(start.min()) + 2
    offset = lane * lane_length
    laid_out_starts = start + offset
    laid_out_ends = np.minimum(end, last_start + 1) + offset
    for most_covered in (3, 2, 1):
        places = np.flatnonzero(pending)
        number = np.arange(places.size)
        begun_counts = np.searchsorted(laid_out_starts[places], laid_out_ends[places])
        covered_counts = begun_counts - number - 1
        is_covering = covered_counts >= most_covered
        next_places = places[np.minimum(number + 1, places.size - 1)]
        until[places[is_covering]] = start[next_places][is_covering]
        pending[places[is_covering]] = False
    return ~pending, until


def next_starts(rows: ExaminedTable, places: Places) -> Times:
    """Return when the next interval on the lane of each of the rows starts, FOREVER without one."""
    credible = np.flatnonzero(rows.credible)
    lane = names_of(rows, _LANE, credible)
    order = np.lexsort((rows.start[credible], lane))
    ordered = credible[order]
    lane = lane[order]
    is_same_lane = lane[1:] == lane[:-1]
    next_start = np.full(rows.start.size, FOREVER)
    next_start[ordered[:-1][is_same_lane]] = rows.start[ordered[1:][is_same_lane]]
    return next_start[places]


def judge_states(rows: ExaminedTable) -> None:
    """Find states of a device that share time with the next; of two the longer is left out."""
    credible = np.flatnonzero(rows.credible)
    if credible.size < 2:  # noqa: PLR2004  one shares with none
        return
    device = names_of(rows, ("device",), credible)
    order = np.lexsort((rows.start[credible], device))
    ordered = credible[order]
    device = device[order]
    leading = ordered[:-1]
    trailing = ordered[1:]
    overlap_times = rows.end[leading] - rows.start[trailing]
    is_same_device = device[1:] == device[:-1]
    overlaps = is_same_device & (rows.end[leading] > rows.start[trailing] + _ROUNDED)
    lengths = rows.end - rows.start
    longer = np.where(lengths[leading] >= lengths[trailing], leading, trailing)[overlaps]
    broken = np.zeros(rows.start.size, np.bool_)
    broken[longer] = True
    excess = np.zeros(rows.start.size, np.int64)
    excess[longer] = overlap_times[overlaps]
    rows.accuse("two-states-at-once", broken, excess=excess, rare_only=True)


def judge_shares(rows: ExaminedTable) -> None:
    """Find samples of counters in percent that are below 0 or far above 100."""
    if not rows.has("percentage", "value"):
        return
    is_percentage = rows.frame["percentage"].fillna(value=False).to_numpy(np.bool_)
    value = rows.frame["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    is_outside = is_percentage & ((value > 100 + _OVER) | (value < 0))
    population = int(np.count_nonzero(is_percentage))
    rows.accuse("over-100-percent", is_outside, population=population, rare_only=True)


def judge_samples(rows: ExaminedTable) -> None:
    """Find threads whose samples weigh more than the time in which they were taken."""
    if not rows.has("tid", "weight") or not rows.start.size:
        return
    weight = times_of(rows.frame, "weight")
    has_thread = rows.frame["tid"].notna().to_numpy(np.bool_)
    places = np.flatnonzero(rows.credible & (weight != NEVER) & has_thread)
    if not places.size:
        return
    thread = names_of(rows, ("pid", "tid"), np.arange(rows.start.size))[places]
    weight = weight[places]
    time = rows.start[places]
    thread_count = int(thread.max()) + 1
    sums = np.bincount(thread, weights=weight, minlength=thread_count)
    first_times = np.full(thread_count, FOREVER)
    last_times = np.full(thread_count, NEVER)
    heaviest = np.zeros(thread_count, np.int64)
    np.minimum.at(first_times, thread, time)
    np.maximum.at(last_times, thread, time)
    np.maximum.at(heaviest, thread, weight)
    # A sample covers time around it: the first and the last reach beyond both ends.
    has_samples = last_times >= first_times
    sampled_times = np.where(has_samples, last_times - first_times, 0) + 2 * heaviest
    is_heavy = sums > _HEAVY * sampled_times
    broken = np.zeros(rows.start.size, np.bool_)
    broken[places] = is_heavy[thread]
    rows.accuse("more-than-wall-time", broken)
