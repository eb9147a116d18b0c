"""`dominant-work`: one kind of work takes most of the device's time."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.channels import BLIT, is_alike
from tracekit.analysis.idle.sums import idle_time, loaded_time
from tracekit.analysis.intervals import spans
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device

_FRAGMENT = "fragment"
_VERTEX = "vertex"
_BUSY = 0.85  # share of the time under load for which a limiting device works
_FACTOR = 3.0  # times a typical other piece
_FAR = 20.0  # ratio above which one piece is out of all proportion
_FEW = 2.0  # pieces an iteration
_MANY = 4.0  # other pieces an iteration: a simulation may well be one kernel and a tiny one
_IN_EACH = 0.9  # pieces an iteration; fewer belong to some iterations only, such as a prompt
_MANY_PASSES = 16.0  # equal passes a frame, of which each hardly draws anything of its own
_REFRESH = 16_700_000  # ns: a frame that takes longer misses a display of 60 Hz


def dominant_work(
    gpu: Device,
    loop: Loop,
    work_groups: pd.DataFrame,
    channels: pd.DataFrame,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    iterations: pd.DataFrame,
    *,
    limit: float = 0.6,
) -> Findings:
    """One kind of work takes most of the device's time, and the device is the limit.

    What it looks for:
        A loop in which the device works for at least 85 % of the time, and one group of equal
        pieces (of one channel, kernel and length) that takes more than `limit` (60 %) of its time,
        each of them three times as long as a typical other piece. It needs no names. It is a note,
        because a matrix product may well be most of a step; it is a warning if one or two pieces an
        iteration are twenty times as long as at least four others, or if they make a program that
        draws miss the refresh of a 60 Hz display. Sixteen or more render passes of one length in a
        frame could be joined: each of them loads and stores its target, which takes the same time
        for every drawing. The rule is silent when counters or names tell more about the same work,
        and when something outside paces the loop.

    Why it matters:
        If the device is the limit, a change has to make its longest work shorter: all the rest
        together saves no more than its own share. A kernel chosen for another shape can be ten or a
        hundred times slower than the right one.

    What to do:
        Try another kernel, shape or amount of this work before anything else.

    When it abstains:
        When no loop is found, when the target is not known, and when a CPU did the work.
    """
    steady = steady_iterations(iterations)
    load = loaded_time(loaded)
    if loop.paced or idle_time(gaps) > (1 - _BUSY) * load or len(work_groups) < 2:  # noqa: PLR2004
        return
    top = work_groups.iloc[0]
    other_groups = work_groups.iloc[1:]
    channel = str(top["channel"]).lower()
    other_lengths = np.repeat(other_groups["length"], other_groups["pieces"])
    median_length = float(np.median(other_lengths))
    least_length = max(1.0, median_length)
    top_length = float(top["length"])
    factor = top_length / least_length
    share = float(top["share"])
    draws = _FRAGMENT in channel or _VERTEX in channel
    top_count = float(top["pieces"])
    top_pieces = top_count / len(steady)
    if BLIT in channel or factor < _FACTOR or share <= limit or top_pieces < _IN_EACH:
        return
    period = load / len(steady)
    misses = draws and period > _REFRESH
    piece_total = float(work_groups["pieces"].sum())
    pieces = piece_total / len(steady)
    far = not draws and top_pieces <= _FEW and factor >= _FAR and pieces - top_pieces >= _MANY
    is_of_channel = channels["channel"] == top["channel"]
    of_channel = channels.loc[is_of_channel, "share"]
    starts, ends = _pieces(gpu, loop, str(top["channel"]), int(top["length"]))
    alike_pieces = 0.0
    durations = ends - starts
    if is_alike(durations):
        alike_pieces = top_pieces
    lever = _lever(channel, alike_pieces)
    channel_name = str(top["channel"])
    kernel = None
    if not pd.isna(top["kernel"]):
        kernel = str(top["kernel"])
    channel_share = float(of_channel.max())
    length = int(top["length"])
    unit_name = "frame"
    if not draws:
        unit_name = unit(steady)
    idle = idle_time(gaps) / load
    facts = (
        Fact("channel", channel_name),
        Fact("kernel", kernel),
        Fact("device_share", share, "ratio"),
        Fact("channel_share", channel_share, "ratio"),
        Fact("each", top_pieces, "count"),
        Fact("pieces", pieces, "count"),
        Fact("length", length, "ns"),
        Fact("usual", median_length, "ns"),
        Fact("factor", factor, "count"),
        Fact("unit", unit_name),
        Fact("period", period, "ns"),
        Fact("idle", idle, "ratio"),
    )
    severity = Severity.NOTE
    if misses or far:
        severity = Severity.WARNING
    evidence = longest("gpu_intervals", starts, ends)
    dominance = finding(
        wording="dominant-work",
        facts=facts,
        lever=lever,
        severity=severity,
        evidence=evidence,
    )
    if lever is Mechanism.MANY_PASSES:
        dominance = replace(dominance, wording="dominant-work-passes")
    yield dominance


def _lever(channel: str, alike_each: float) -> Mechanism:
    """Return the lever; `alike_each` is the number of pieces of one length per iteration."""
    if _FRAGMENT in channel and alike_each >= _MANY_PASSES:
        return Mechanism.MANY_PASSES
    if _FRAGMENT in channel:
        return Mechanism.DOMINANT_FRAGMENTS
    if _VERTEX in channel:
        return Mechanism.DOMINANT_VERTICES
    return Mechanism.DOMINANT_WORK


def _pieces(gpu: Device, loop: Loop, channel: str, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pieces of a channel that are about as long as the group's."""
    is_channel = gpu.target_intervals["channel"] == channel
    channel_rows = gpu.target_intervals[is_channel]
    rows = loop.rows(channel_rows)
    starts, ends = spans(rows)
    differences = np.abs((ends - starts) - length)
    alike_pieces = differences <= length / 2
    return starts[alike_pieces], ends[alike_pieces]
