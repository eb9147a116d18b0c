"""`uneven-work`: iterations do different amounts of work on the device."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.beats import LEAST_EXCESS, LEAST_Z, Beats, beats, spikes
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.iterations import steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.modes import modes
from tracekit.analysis.repetition import Structure
from tracekit.analysis.rhythm import beside_others, facts_of_spread
from tracekit.analysis.rounds import FEWEST
from tracekit.analysis.rule import Fact, Finding, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.stretches import group_beats

_SHOWN = 3
_HELD_UP = 10.0  # ratio of a stretch of long iterations to a typical iteration
_MOST_BULK = 0.3  # largest share of iterations with long work
_NOTICED = 100_000_000  # ns: a wait that a person notices
_NO_PAUSE = 0.1  # largest share of a stretch for which the device may be idle
_BY_CHANCE = 0.05  # coefficient of variation above which the distances of stretches are uneven
_IN_BURSTS = 1.0  # the same for groups of a loop: few short groups in a burst, many between two


def uneven_work(
    gpu: Device,
    structure: Structure,
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    *,
    limit: float = 0.20,
    least_excess: float = 0.20,
    least_share: float = 0.15,
    least_separation: float = 4.0,
    least_changes: int = 6,
    most: float = 0.15,
    fewest: int = 3,
) -> Findings:
    """Iterations do different amounts of work on the device.

    What it looks for:
        Groups of command buffers with different device times that repeat in the same order, some of
        them alike in a row, such as a validation pass after every twentieth step: they are named,
        and if they repeat 8 times or more, a group is one iteration. Otherwise the device time of
        each iteration: a few, up to `most` (15 %) and at least `fewest` (3), with far more than
        their neighbours; two kinds, at least `least_excess` (20 %) and `least_separation` (4)
        robust standard deviations apart, of which the rarer makes up `least_share` (15 %), that
        alternate `least_changes` (6) times; or one that differs from the next by more than `limit`
        (20 %, a robust coefficient of variation). All of these are notes. If the few come in
        stretches that take ten times as long as a typical iteration, at least 100 ms, right behind
        short ones and at irregular distances, short work is held up by long work that something
        requested meanwhile, such as a prompt: that is a warning, as are bursts of long groups of
        command buffers if short groups outnumber them. The few have more pieces of work
        or fewer: if as many pieces take longer, step-spikes reports it. Iterations in which the
        device also ran for other processes, on any channel, do not count.

    Why it matters:
        This is not a fault by itself, but a mean over different iterations has little meaning, and
        an iteration that has far more work than the others delays everyone who waits for the next
        one.

    What to do:
        Nothing, if this is intended: compare iterations of the same kind, and medians instead of
        means.

    When it abstains:
        When no loop is found, when the device time of iterations is not known, with fewer than 16
        of a kind, for a server, whose steps differ with the requests, and when a CPU did the work.
    """
    bursts = None
    if timeline is not None:
        bursts = _report_bursts(timeline, fewest)
    if bursts is not None:
        yield bursts
        return
    steady = steady_iterations(iterations)
    if structure.profile:
        yield from _rounds(structure, steady)
        return
    rows = [row for row in beats(steady, requests, spans) if row.has_work]
    if not rows:
        raise Unavailable("the device time of each iteration is not known.")
    called = unit(steady)
    for row in rows:
        work_times = row.work.astype(np.int64)
        ends = row.starts + work_times
        by_work = replace(row, ends=ends)
        far, _ = spikes(by_work, LEAST_Z, LEAST_EXCESS)
        bulk = _report_bulk(row, far, called, fewest)
        if bulk is not None:
            yield bulk
            continue
        far &= row.is_other_work
        far = _without_others(row, far, gpu)
        two = modes(by_work.times)
        of_two_kinds = two.are_two_kinds(
            excess=least_excess,
            share=least_share,
            separation=least_separation,
            changes=least_changes,
        )
        if fewest <= far.sum() and far.mean() <= most:
            yield _report_few(row, far, called)
        elif of_two_kinds:
            yield _two(row, two.slow, called)
        elif row.variation_of_work * row.certain > limit:
            yield _spread(row, called)


def _without_others(row: Beats, far: np.ndarray, gpu: Device) -> np.ndarray:
    """Return which of the far beats ran alone on the device."""
    if not far.any() or far.all():
        return far
    return far & ~beside_others(row, far, gpu.other_intervals)


def _rounds(structure: Structure, steady: pd.DataFrame) -> Findings:
    """Yield the kinds of groups that recur in the same order, if some in a row are alike."""
    if not 1 < len(structure.kinds) < len(structure.profile):
        return
    numbered_kinds = list(enumerate(structure.kinds[:_SHOWN], start=1))
    times = [Fact(f"work_{place}", time, "ns") for place, (_, time) in numbered_kinds]
    numbers = [Fact(f"groups_{place}", number) for place, (number, _) in numbered_kinds]
    starts = steady["start"].to_numpy(dtype=np.int64)
    ends = starts + steady["duration"].to_numpy(dtype=np.int64)
    group_count = len(structure.profile)
    kind_count = len(structure.kinds)
    is_iteration = structure.times >= FEWEST
    facts = (
        Fact("groups", group_count),
        Fact("times", structure.times),
        Fact("kinds", kind_count),
        Fact("is_iteration", is_iteration),
        *times,
        *numbers,
    )
    evidence = longest("gpu_intervals", starts, ends)
    yield finding(
        wording="uneven-work-rounds",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        severity=Severity.NOTE,
        evidence=evidence,
    )


def _report_bursts(timeline: pd.DataFrame, fewest: int) -> Finding | None:
    """Return the finding that long groups of command buffers delay short ones; None if not."""
    row = group_beats(timeline)
    if row is None or not row.has_work:
        return None
    far = row.work > _HELD_UP * np.median(row.work)
    return _report_bulk(row, far, "group of command buffers", fewest, _IN_BURSTS)


def _report_bulk(
    row: Beats, far: np.ndarray, called: str, fewest: int, uneven: float = _BY_CHANCE
) -> Finding | None:
    """Return the finding that stretches of long iterations delay short ones; None if they do not.

    A stretch after a pause was requested alone. Stretches at an even distance are a part of the
    loop, such as a validation: the coefficient of variation of the distances is at least `uneven`.
    """
    signed_flags = far.astype(np.int8)
    flags = np.concatenate(([0], signed_flags, [0]))
    changes = np.diff(flags)
    edges = np.flatnonzero(changes)
    begins = edges[::2]
    stops = edges[1::2]
    inner = (begins > 0) & (stops < far.size)
    begins = begins[inner]
    stops = stops[inner]
    if begins.size < fewest or far.mean() > _MOST_BULK:
        return None
    usual = float(np.median(row.times[~far]))
    starts = row.starts[begins]
    ends = row.starts[stops]
    held = ends - starts
    worked = np.concatenate(([0.0], np.cumsum(row.work)))
    idle = held - (worked[stops] - worked[begins])
    longest_usual = max(_HELD_UP * usual, _NOTICED)
    is_held_up = held >= longest_usual
    chosen = is_held_up & (idle <= _NO_PAUSE * held)
    if chosen.sum() < fewest:
        return None
    between = np.diff(begins[chosen])
    if between.std() < uneven * between.mean():
        return None
    stretch_count = int(chosen.sum())
    piece_counts = stops - begins
    chosen_counts = piece_counts[chosen]
    median_count = float(np.median(chosen_counts))
    piece_count = round(median_count)
    held_times = held[chosen]
    held_time = float(np.median(held_times))
    longest_hold = float(held_times.max())
    step_time = row.times.sum()
    held_sum = held_times.sum()
    share = float(held_sum / step_time)
    factor = held_time / usual
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("stretches", stretch_count),
        Fact("pieces", piece_count),
        Fact("held", held_time, "ns"),
        Fact("most", longest_hold, "ns"),
        Fact("usual", usual, "ns"),
        Fact("factor", factor, "count"),
        Fact("share", share, "ratio"),
    )
    chosen_starts = starts[chosen]
    chosen_ends = ends[chosen]
    evidence = longest("gpu_intervals", chosen_starts, chosen_ends)
    return finding(
        wording="uneven-work-bulk",
        facts=facts,
        lever=Mechanism.LONG_BEFORE_SHORT,
        evidence=evidence,
    )


def _report_few(row: Beats, far: np.ndarray, called: str) -> Finding:
    outlier_count = int(far.sum())
    step_count = int(far.size)
    far_work = row.work[far]
    longest_time = float(far_work.max())
    typical_time = float(np.median(row.work))
    work_sum = row.work.sum()
    share = float(far_work.sum() / work_sum)
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("few", outlier_count),
        Fact("steps", step_count),
        Fact("longest", longest_time, "ns"),
        Fact("usual", typical_time, "ns"),
        Fact("share", share, "ratio"),
    )
    far_starts = row.starts[far]
    far_ends = row.ends[far]
    evidence = longest("gpu_intervals", far_starts, far_ends)
    return finding(
        wording="uneven-work-few",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        severity=Severity.NOTE,
        evidence=evidence,
    )


def _two(row: Beats, more: np.ndarray, called: str) -> Finding:
    less_times = row.work[~more]
    less_work = float(np.median(less_times))
    more_times = row.work[more]
    more_work = float(np.median(more_times))
    more_share = float(more.mean())
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("less", less_work, "ns"),
        Fact("more", more_work, "ns"),
        Fact("more_share", more_share, "ratio"),
    )
    more_starts = row.starts[more]
    more_ends = row.ends[more]
    evidence = longest("gpu_intervals", more_starts, more_ends)
    return finding(
        wording="uneven-work-kinds",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        severity=Severity.NOTE,
        evidence=evidence,
    )


def _spread(row: Beats, called: str) -> Finding:
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("variation", row.variation_of_work, "ratio"),
        *facts_of_spread(row.work),
    )
    evidence = longest("gpu_intervals", row.starts, row.ends)
    return finding(
        wording="uneven-work-spread",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        severity=Severity.NOTE,
        evidence=evidence,
    )
