"""The table `gaps` for queries: a row for each gap, with its cause and the work around it."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.whole import whole_gaps
from tracekit.analysis.idle.work import DeviceWork
from tracekit.analysis.intervals import Times, in_order
from tracekit.analysis.scope import Device

GAP_COLUMNS = {
    "start": "int64",
    "duration": "int64",
    "device": "int64",
    "cause": "string",
    "share": "float64",
    "second_cause": "string",
    "second_share": "float64",
    "host": "string",
    "waited": "string",
    "before": "string",
    "after": "string",
}
"""The columns, with their types in the words of pandas."""


def list_gaps(gaps: pd.DataFrame, device: Device, life: DeviceWork) -> pd.DataFrame:
    """Return a row for each gap of the loaded steady window, in the order of their starts.

    `start` and `duration` are in ns, and `device` is the number of the device. `cause` has most of
    the gap's time, `share` is its ratio; `second_cause` is null if the first one has all of it.
    `host` is the activity of the host that took most of the gap, null if none is known, and
    `waited` tells whether the thread that commits next waited for a report: yes, no, unknown, or
    null if there was no report. `before` and `after` are the kernels of the work that ended last
    and began next, null at an end of the recording.
    """
    merged_gaps = whole_gaps(gaps)
    pieces = pd.DataFrame(
        {
            "place": merged_gaps.place,
            "duration": merged_gaps.lengths,
            "cause": gaps["cause"].astype("string").to_numpy(),
            "host": gaps["during"].astype("string").to_numpy(),
        }
    )
    lengths = merged_gaps.ends - merged_gaps.starts
    first_pieces = gaps.iloc[merged_gaps.first_rows]
    devices = first_pieces["device"].to_numpy(dtype=np.int64)
    causes = _rank_pieces(pieces, "cause", 2, lengths)
    hosts = _rank_pieces(pieces[pieces["host"] != ""], "host", 1, lengths)
    earlier_kernels, later_kernels = _name_neighbours(
        merged_gaps.starts, merged_gaps.ends, devices, device, life
    )
    waited = first_pieces["waited"].to_numpy(dtype=object)
    waited[waited == "none"] = None
    columns = {
        "start": merged_gaps.starts,
        "duration": lengths,
        "device": devices,
        "cause": causes[0][0],
        "share": causes[0][1],
        "second_cause": causes[1][0],
        "second_share": causes[1][1],
        "host": hosts[0][0],
        "waited": waited,
        "before": earlier_kernels,
        "after": later_kernels,
    }
    table = pd.DataFrame(columns).astype(GAP_COLUMNS)
    return table.sort_values("start", kind="stable", ignore_index=True)


def _rank_pieces(
    pieces: pd.DataFrame, column: str, count: int, lengths: Times
) -> list[tuple[NDArray[np.object_], NDArray[np.float64]]]:
    """Return the values of a column with most time in each gap, and their shares, most first."""
    sums = pieces.groupby(["place", column], observed=True)["duration"].sum().reset_index()
    sums = sums.sort_values(["place", "duration"], ascending=[True, False], kind="stable")
    sums["rank"] = sums.groupby("place").cumcount()
    ranked: list[tuple[NDArray[np.object_], NDArray[np.float64]]] = []
    for rank in range(count):
        rows = sums[sums["rank"] == rank]
        places = rows["place"].to_numpy()
        names = np.full(lengths.size, None, dtype=object)
        shares = np.full(lengths.size, np.nan)
        names[places] = rows[column].to_numpy(dtype=object)
        shares[places] = rows["duration"].to_numpy() / lengths[places]
        ranked.append((names, shares))
    return ranked


def _name_neighbours(
    starts: Times, ends: Times, devices: Times, device: Device, life: DeviceWork
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Return the kernels of the work before and after each gap, on the device of the gap."""
    earlier_kernels = np.full(starts.size, None, dtype=object)
    later_kernels = np.full(starts.size, None, dtype=object)
    no_kernel = np.full(1, None, dtype=object)
    codes, kernels = device.families
    ordered_codes = codes.loc[in_order(device.target_intervals).index]
    labels = np.array(kernels, dtype=object)[ordered_codes.to_numpy()]
    for number in np.unique(devices).tolist():
        gaps_here = devices == number
        work_here = life.device == number
        names = labels[work_here]
        by_end = np.argsort(life.end[work_here], kind="stable")
        work_ends = life.end[work_here][by_end]
        ended_count = np.searchsorted(work_ends, starts[gaps_here], side="right")
        following = np.searchsorted(life.start[work_here], ends[gaps_here], side="left")
        earlier_kernels[gaps_here] = np.concatenate((no_kernel, names[by_end]))[ended_count]
        later_kernels[gaps_here] = np.concatenate((names, no_kernel))[following]
    return earlier_kernels, later_kernels
