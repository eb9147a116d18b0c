"""The device's work without names: by channel, and by groups of pieces of equal length.

Labels often do not name kernels. A channel gives the kind of work (compute, blit, vertex,
fragment). Pieces of one channel that always take equally long, at the same place of the iteration,
are most likely one kernel on data of one size: such a group replaces a name.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import (
    EqualRuns,
    IntervalSet,
    Times,
    Window,
    choose_rows,
    clip,
    spans,
)
from tracekit.analysis.scope import Device, text_codes
from tracekit.analysis.work_names import is_unnamed

BLIT = "blit"
"""A part of the name of a channel of copies and fills, in lower case."""
_BLIT_LABEL = r"\bblit command \d"  # in either case
ALIKE = 0.15
"""Lengths whose 10th and 90th percentile lie no farther apart than this are equal; of the median.

Copies of one size differ by a few percent, and those of twice the size take nearly twice as long.
"""
_APART = 1.25  # ratio of two neighbours among ordered lengths that separates two groups
_LEAST_SHARE = 0.01  # of a separate group in the pieces of a channel and kernel
_ENDS = (0.1, 0.9)  # the quantiles that `is_alike` compares
_READ_COLUMNS = ("start", "duration", "device", "bytes")
_CHANNEL_COLUMNS = (
    *("channel", "device", "pieces", "time", "alone", "share", "alone_share", "length", "alike"),
    "bytes",
)
_GROUP_COLUMNS = ("channel", "kernel", "pieces", "time", "share", "length", "each", "place")


def is_on_blit_channel(intervals: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether each row ran on a channel for copies and fills."""
    codes, names = text_codes(intervals, "channel", "")
    is_blit = np.array([BLIT in name.lower() for name in names], np.bool_)
    return is_blit[codes]


def is_labelled_blit(intervals: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether the default label of each row says that it is a copy or a fill.

    Some traces put blit encoders on the channel of compute; there, only labels tell them apart.
    """
    for column in ("kernel", "label"):
        if column in intervals and intervals[column].notna().any():
            is_blit = intervals[column].str.contains(_BLIT_LABEL, case=False, na=False)
            return is_blit.to_numpy(np.bool_)
    return np.zeros(len(intervals), np.bool_)


def channels_table(gpu: Device, loop: Window) -> pd.DataFrame:
    """Return the table `channels`: a row for each channel of each device, the longest time first.

    Columns: `channel`, `device`, `pieces`, `time` (ns in which the channel worked for the target),
    `alone` (ns of it in which no other channel of the device worked: the device's time is shorter
    by this without the channel), `share` and `alone_share` of the device's time for the target,
    `length` (ns, of a typical piece), `alike` (whether nearly all take equally long), `bytes` (all
    that its pieces moved, null if the trace does not state any). Only work in the loop counts.
    """
    work, channels, names = _of_loop(gpu, loop)
    devices, device_names = text_codes(work, "device", "")
    rows: list[dict[str, object]] = []
    for device, device_name in enumerate(device_names):
        members_by_channel = {
            name: np.flatnonzero((devices == device) & (channels == channel))
            for channel, name in enumerate(names)
        }
        rows += _measure_channels(work, device_name, members_by_channel, loop)
    table = pd.DataFrame(rows, columns=pd.Index(_CHANNEL_COLUMNS)).astype({"bytes": "Int64"})
    return table.sort_values("time", ascending=False, kind="stable", ignore_index=True)


def _measure_channels(
    work: pd.DataFrame,
    device_name: str,
    members_by_channel: dict[str, NDArray[np.intp]],
    loop: Window,
) -> Iterator[dict[str, object]]:
    """Yield the row of each channel of one device; `members_by_channel` are its rows of `work`."""
    starts, ends = spans(work)
    times_by_channel: dict[str, IntervalSet] = {}
    for name, members in members_by_channel.items():
        if members.size:
            clipped = clip(starts[members], ends[members], loop.start, loop.end)
            times_by_channel[name] = IntervalSet.from_spans(*clipped)
    device_time = _length(IntervalSet.union_of(list(times_by_channel.values())))
    for name, times in times_by_channel.items():
        other_times = [
            channel_times for channel, channel_times in times_by_channel.items() if channel != name
        ]
        time = _length(times)
        time_alone = device_time - _length(IntervalSet.union_of(other_times))
        members = members_by_channel[name]
        lengths = ends[members] - starts[members]
        yield {
            "channel": name,
            "device": device_name,
            "pieces": lengths.size,
            "time": time,
            "alone": time_alone,
            "share": time / max(1, device_time),
            "alone_share": time_alone / max(1, device_time),
            "length": int(np.median(lengths)),
            "alike": is_alike(lengths),
            "bytes": _bytes_of(work, members),
        }


def work_groups_table(gpu: Device, loop: Window, iterations: pd.DataFrame | None) -> pd.DataFrame:
    """Return the table `work_groups`: a row for each group of equal work, the longest time first.

    A group has the pieces of one channel and kernel whose lengths form a cluster: each is at most a
    quarter longer than the next shorter one. Labels that do not name a kernel count as one kernel,
    whose `kernel` is null. Columns: `channel`, `kernel`, `pieces`, `time` (their sum, ns), `share`
    of all such sums, `length` (the median, ns), `each` (pieces per iteration), `place` (the median
    place of its starts in their iterations, from 0 to 1). The last two are null if iterations are
    unknown.
    """
    work, channels, channel_names = _of_loop(gpu, loop)
    starts, ends = spans(work)
    lengths = ends - starts
    kernels, kernel_names = _number_kernels(gpu, work)
    places = _find_places(starts, iterations)
    rows: list[dict[str, object]] = []
    numbers = channels * len(kernel_names) + kernels
    for members in EqualRuns.from_keys(numbers).list_rows():
        channel = int(channels[members[0]])
        kernel = int(kernels[members[0]])
        for cluster in _clusters(lengths[members]):
            group = members[cluster]
            row: dict[str, object] = {
                "channel": channel_names[channel],
                "kernel": kernel_names[kernel],
                "pieces": group.size,
                "time": int(lengths[group].sum()),
                "length": int(np.median(lengths[group])),
            }
            if iterations is not None and places is not None:
                row["each"] = group.size / len(iterations)
                row["place"] = float(np.median(places[group]))
            rows.append(row)
    table = pd.DataFrame(rows, columns=pd.Index(_GROUP_COLUMNS))
    table["share"] = table["time"] / max(1, int(table["time"].sum()))
    table = table.astype({"each": "Float64", "place": "Float64"})
    return table.sort_values("time", ascending=False, kind="stable", ignore_index=True)


def _number_kernels(gpu: Device, work: pd.DataFrame) -> tuple[NDArray[np.intp], list[str | None]]:
    """Return the number of each row's kernel, and the kernels; all without a name are the last."""
    codes, names = gpu.families
    numbers = codes.loc[work.index].to_numpy()
    is_nameless = np.array([is_unnamed(name) for name in names], dtype=np.bool_)
    return np.where(is_nameless[numbers], len(names), numbers), [*names, None]


def is_alike(lengths: Times) -> bool:
    """Return whether nearly all lengths are equal."""
    lower_quantile, upper_quantile = np.quantile(lengths, _ENDS)
    median_length = np.median(lengths)
    return bool(upper_quantile - lower_quantile <= ALIKE * median_length)


def _of_loop(gpu: Device, loop: Window) -> tuple[pd.DataFrame, NDArray[np.intp], list[str]]:
    """Return the target's work that overlaps the loop, each row's channel code, and the names."""
    starts, ends = gpu.spans
    codes, names = gpu.channels
    in_loop = (ends > loop.start) & (starts < loop.end)
    read_columns = [name for name in _READ_COLUMNS if name in gpu.target_intervals]
    work = gpu.target_intervals[read_columns]
    if in_loop.all():
        return work, codes, names
    return choose_rows(work, in_loop), codes[in_loop], names


def _length(work: IntervalSet) -> int:
    return int((work.ends - work.starts).sum())


def _bytes_of(work: pd.DataFrame, members: NDArray[np.intp]) -> int | None:
    """Return the bytes that the trace states; traces write 0 for an unknown number."""
    if "bytes" not in work:
        return None
    sizes = work["bytes"].to_numpy(dtype=np.int64, na_value=0)
    return int(sizes[members].sum()) or None


def _find_places(starts: Times, iterations: pd.DataFrame | None) -> NDArray[np.float64] | None:
    """Return the place of each start in its iteration, from 0 to 1; None without iterations."""
    if iterations is None or iterations.empty:
        return None
    begins, ends = spans(iterations.sort_values("start", kind="stable"))
    begun_counts = np.searchsorted(begins, starts, side="right")
    iteration = np.clip(begun_counts - 1, 0, begins.size - 1)
    durations = np.maximum(ends - begins, 1)
    since_begin = starts - begins[iteration]
    return np.clip(since_begin / durations[iteration], 0.0, 1.0)


def _clusters(lengths: Times) -> Iterator[NDArray[np.intp]]:
    """Yield the places of lengths near each other, the shortest first.

    In order of length, a cluster ends before a length that is more than a quarter longer. A small
    cluster joins the next longer one.
    """
    # Sorting the values and looking up each is several times as fast as sorting the places.
    lengths = np.maximum(lengths, 1)
    ordered = np.sort(lengths)
    is_apart = ordered[1:] > _APART * ordered[:-1]
    cluster_ends = [*(np.flatnonzero(is_apart) + 1).tolist(), ordered.size]
    begin = 0
    for end in cluster_ends:
        is_large = end - begin >= _LEAST_SHARE * ordered.size
        if is_large or end == ordered.size:
            is_member = (lengths >= ordered[begin]) & (lengths <= ordered[end - 1])
            yield np.flatnonzero(is_member)
            begin = end
