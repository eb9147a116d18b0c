"""The device's work without names: by channel, and by groups of pieces of equal length.

Labels often do not name kernels. A channel gives the kind of work (compute, blit, vertex,
fragment). Pieces of one channel that always take equally long, at the same place of the iteration,
are most likely one kernel on data of one size: such a group replaces a name.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import IntervalSet, Times, Window, clip, spans
from tracekit.analysis.scope import Device, text_codes
from tracekit.analysis.work_names import is_unnamed

BLIT = "blit"
"""A part of the name of a channel of copies and fills, in lower case."""
ALIKE = 0.15
"""Lengths whose 10th and 90th percentile lie no farther apart than this are equal; of the median.

Copies of one size differ by a few percent, and those of twice the size take nearly twice as long.
"""
_APART = 1.25  # ratio of two neighbours among ordered lengths that separates two groups
_LEAST = 0.01  # least share of a separate group in the pieces of a channel and kernel
_ENDS = (0.1, 0.9)
_READ = ("start", "duration", "channel", "device", "bytes")
_GROUPED = ("channel", "kernel", "pieces", "time", "length", "each", "place")


def channels_table(gpu: Device, loop: Window) -> pd.DataFrame:
    """Return the table `channels`: a row for each channel of each device, the longest time first.

    Columns: `channel`, `device`, `pieces`, `time` (ns in which the channel worked for the target),
    `alone` (ns of it in which no other channel of the device worked: the device's time is shorter
    by this without the channel), `share` and `alone_share` of the device's time for the target,
    `length` (ns, of a typical piece), `alike` (whether nearly all take equally long), `bytes` (all
    that its pieces moved, null if the trace does not state any). Only work in the loop counts.
    """
    work, channels, names = _of_loop(gpu, loop)
    devices, titles = text_codes(work, "device", "")
    starts, ends = spans(work)
    rows: list[dict[str, object]] = []
    for device, title in enumerate(titles):
        on_device = devices == device
        members = {
            name: np.flatnonzero(on_device & (channels == channel))
            for channel, name in enumerate(names)
        }
        covered = {
            name: IntervalSet.from_spans(
                *clip(starts[positions], ends[positions], loop.start, loop.end)
            )
            for name, positions in members.items()
            if positions.size
        }
        all_work = IntervalSet.union_of(list(covered.values()))
        total_time = _length(all_work)
        for name, times in covered.items():
            other_channels = [
                other_times for other_name, other_times in covered.items() if other_name != name
            ]
            alone = total_time - _length(IntervalSet.union_of(other_channels))
            lengths = (ends - starts)[members[name]]
            time = _length(times)
            share = time / max(1, total_time)
            alone_share = alone / max(1, total_time)
            length = int(np.median(lengths))
            rows.append(
                {
                    "channel": name,
                    "device": title,
                    "pieces": lengths.size,
                    "time": time,
                    "alone": alone,
                    "share": share,
                    "alone_share": alone_share,
                    "length": length,
                    "alike": is_alike(lengths),
                    "bytes": _bytes_of(work, members[name]),
                }
            )
    table = pd.DataFrame(rows).astype({"bytes": "Int64"})
    return table.sort_values("time", ascending=False, kind="stable", ignore_index=True)


def work_groups_table(gpu: Device, loop: Window, iterations: pd.DataFrame | None) -> pd.DataFrame:
    """Return the table `work_groups`: a row for each group of equal work, the longest time first.

    A group has the pieces of one channel and kernel whose lengths form a cluster: each is at most a
    quarter longer than the next shorter one. Labels that do not name a kernel count as one kernel,
    whose `kernel` is null. Columns: `channel`, `kernel`, `pieces`, `time` (their sum, ns), `share`
    of all such sums, `length` (the median, ns), `each` (pieces per iteration), `place` (the median
    place of its starts in their iterations, from 0 to 1). The last two are null if iterations are
    unknown.
    """
    work, channels, names = _of_loop(gpu, loop)
    starts, ends = spans(work)
    codes, kernels = gpu.families
    places = _places(starts, iterations)
    count = 0
    if iterations is not None:
        count = len(iterations)
    nameless = len(kernels)
    named_kernels = [*(not is_unnamed(kernel) for kernel in kernels), True]
    has_name = np.array(named_kernels)
    kernel = codes.loc[work.index].to_numpy()
    kernel = np.where(has_name[kernel], kernel, nameless)
    group = channels * (nameless + 1) + kernel
    rows: list[dict[str, object]] = []
    for number in np.unique(group).tolist():
        members = np.flatnonzero(group == number)
        lengths = (ends - starts)[members]
        rows.extend(
            {
                "channel": str(names[number // (nameless + 1)]),
                "kernel": [*kernels, None][number % (nameless + 1)],
                "pieces": int(chosen.size),
                "time": int(lengths[chosen].sum()),
                "length": int(np.median(lengths[chosen])),
                "each": None if places is None else chosen.size / count,
                "place": None if places is None else float(np.median(places[members][chosen])),
            }
            for chosen in _clusters(lengths)
        )
    table = pd.DataFrame(rows, columns=pd.Index(_GROUPED))
    total_time = max(1, int(table["time"].sum()))
    table.insert(4, "share", table["time"] / total_time)
    table = table.astype({"each": "Float64", "place": "Float64"})
    return table.sort_values("time", ascending=False, kind="stable", ignore_index=True)


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
    read_columns = [name for name in _READ if name in gpu.target_intervals]
    work = gpu.target_intervals[read_columns]
    if in_loop.all():
        return work, codes, names
    return work[in_loop], codes[in_loop], names


def _length(work: IntervalSet) -> int:
    return int((work.ends - work.starts).sum())


def _bytes_of(work: pd.DataFrame, members: NDArray[np.intp]) -> int | None:
    """Return the bytes that the trace states; traces write 0 for an unknown number."""
    if "bytes" not in work:
        return None
    sizes = work["bytes"].to_numpy(dtype=np.int64, na_value=0)
    return int(sizes[members].sum()) or None


def _places(starts: Times, iterations: pd.DataFrame | None) -> NDArray[np.float64] | None:
    """Return the place of each start in its iteration, from 0 to 1; None without iterations."""
    if iterations is None or iterations.empty:
        return None
    begins, ends = spans(iterations.sort_values("start", kind="stable"))
    next_places = np.searchsorted(begins, starts, side="right")
    place = np.clip(next_places - 1, 0, begins.size - 1)
    lasted = np.maximum(ends - begins, 1)
    since = starts - begins[place]
    return np.clip(since / lasted[place], 0.0, 1.0)


def _clusters(lengths: Times) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of lengths near each other; small clusters join the next longer one."""
    # Sorting the values and looking up each is several times as fast as sorting the indices.
    lengths = np.maximum(lengths, 1)
    ordered = np.sort(lengths)
    is_apart = ordered[1:] > _APART * ordered[:-1]
    splits = np.flatnonzero(is_apart) + 1
    begin = 0
    for end in [*splits.tolist(), ordered.size]:
        if end - begin >= _LEAST * ordered.size or end == ordered.size:
            is_near = (lengths >= ordered[begin]) & (lengths <= ordered[end - 1])
            yield np.flatnonzero(is_near)
            begin = end
