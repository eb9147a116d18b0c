"""`blit-copies`: copies by blit encoders take a large part of the device's time."""

import numpy as np
import pandas as pd

from tracekit.analysis.channels import BLIT, channels_table, is_labelled_blit, is_on_blit_channel
from tracekit.analysis.intervals import spans
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.residency import habit
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.scope import Device

_FEWEST = 8
_NS = 1e9  # in a second
_MOSTLY = 0.9  # share of the command buffers with copies that have the same number


def blit_copies(
    gpu: Device,
    loop: Loop,
    iterations: pd.DataFrame | None,
    *,
    limit: float = 0.10,
) -> Findings:
    """Copies by blit encoders take a large part of the device's time.

    What it looks for:
        The time in which the target's blit channel works, or work labelled "Blit Command" on any
        channel, and nothing else of the device works for the target. Copies that run at the same
        time as other work cost little and do not count. It fires when this time is more than
        `limit` of the device's time for the target (10 %), throughout the loop. A loop that a
        display or a timer paces has no time to save.

    Why it matters:
        A copy computes nothing that the program needs, and a blit encoder separates the compute
        encoders around it.

    What to do:
        Avoid the copies, or let a compute kernel make them.

    When it abstains:
        When the recording has no intervals of the target, and when a CPU did the work.
    """
    if loop.paced:
        return
    gpu = _separate_copies(gpu)
    if not is_on_blit_channel(gpu.target_intervals).any():
        return
    channels = channels_table(gpu, loop)
    channel_names = channels["channel"].str.lower()
    is_blit = channel_names.str.contains(BLIT)
    blits = channels[is_blit]
    devices = channels["device"].unique()
    has_several_devices = len(devices) > 1
    for row in blits[blits["alone_share"] > limit].to_dict("records"):
        is_of_channel = gpu.target_intervals["channel"] == row["channel"]
        channel_rows = gpu.target_intervals[is_of_channel]
        copies = loop.rows(channel_rows)
        if has_several_devices:
            is_of_device = copies["device"] == row["device"]
            copies = copies[is_of_device]
        starts, ends = spans(copies)
        if starts.size < _FEWEST or not habit(starts, loop):
            continue
        copy_rate, per = _measure_copy_rate(copies, iterations)
        moved = None
        if not pd.isna(row["bytes"]):
            moved = int(row["bytes"])
        channel_name = str(row["channel"])
        device_share = float(row["alone_share"])
        time = int(row["alone"])
        beside_length = row["time"] - row["alone"]
        shared_time = int(beside_length)
        length = int(row["length"])
        is_alike = bool(row["alike"])
        size = None
        bandwidth = None
        if moved is not None:
            size = round(moved / row["pieces"])
            bandwidth = moved / row["time"] * _NS
        facts = (
            Fact("channel", channel_name),
            Fact("device_share", device_share, "ratio"),
            Fact("time", time, "ns"),
            Fact("beside", shared_time, "ns"),
            Fact("pieces", starts.size, "count"),
            Fact("each", copy_rate, "count"),
            Fact("per", per),
            Fact("length", length, "ns"),
            Fact("alike", is_alike),
            Fact("size", size, "bytes"),
            Fact("bandwidth", bandwidth, "bytes/s"),
        )
        evidence = longest("gpu_intervals", starts, ends)
        yield finding(
            wording="blit-copies",
            facts=facts,
            lever=Mechanism.COPIES_ON_BLIT,
            evidence=evidence,
            saving=time,
        )


def _separate_copies(gpu: Device) -> Device:
    """Give copies that share a channel with other work a channel of their own."""
    work = gpu.target_intervals
    is_labelled = is_labelled_blit(work) & ~is_on_blit_channel(work)
    if "channel" not in work or not is_labelled.any():
        return gpu
    names = work["channel"].astype("object")
    own_names = names.astype(str) + " (labelled Blit Command)"
    return Device(gpu.intervals, work.assign(channel=np.where(is_labelled, own_names, names)))


def _measure_copy_rate(
    copies: pd.DataFrame, iterations: pd.DataFrame | None
) -> tuple[float | None, str]:
    """Return the number of copies per iteration, or else per command buffer, and the noun."""
    if iterations is not None and not iterations.empty:
        return len(copies) / len(iterations), unit(iterations)
    counts = copies["command_buffer"].value_counts()
    median_copies = 0
    if len(counts):
        median_copies = int(counts.median())
    if median_copies and (counts == median_copies).mean() >= _MOSTLY:
        return median_copies, "command buffer"
    return None, ""
