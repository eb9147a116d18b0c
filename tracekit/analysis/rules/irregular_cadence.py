"""`irregular-cadence`: the steps have no even rhythm."""

import numpy as np
import pandas as pd

from tracekit.analysis.beats import Beats, beats
from tracekit.analysis.happenings import Happenings
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.modes import Modes, modes
from tracekit.analysis.pace import Refreshes
from tracekit.analysis.rhythm import explain, facts_of_spread
from tracekit.analysis.rule import Fact, Finding, Findings, finding, longest

_OF_WORK = 0.5  # share of the distance of two speeds above which the device's work explains them


def irregular_cadence(
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    happenings: Happenings,
    spans: pd.DataFrame | None,
    loop: Loop | None,
    *,
    limit: float = 0.20,
    least_excess: float = 0.20,
    least_share: float = 0.15,
    least_separation: float = 4.0,
    least_changes: int = 6,
) -> Findings:
    """The rhythm of the steps is irregular, although each does as much work.

    What it looks for:
        The time from the start of a steady step to the start of the next; for iterations without
        marks, from the device's end of one to its end of the next. It fires when steps alternate
        between two speeds: the slow ones take at least `least_excess` (20 %) longer, both kinds
        make up at least `least_share` (15 %) of the steps, are `least_separation` (4) robust
        standard deviations apart, and alternate at least `least_changes` (6) times. Otherwise it
        fires when a step differs from the next by more than `limit` (20 %, a robust coefficient of
        variation, less the uncertainty of so few steps). Single outliers, which step-spikes judges,
        and a slow drift do not make a rhythm irregular. Neither does the device's own work: if it
        differs from step to step, that is uneven-work. If several variants are compared, each is
        judged by itself.

    Why it matters:
        Dispatches of a steady loop come at regular intervals. If they do not, something other than
        the kernels sets the pace, and a mean has little meaning.

    What to do:
        Compare a slow and a fast step in the timeline; spread the cause of the difference over all
        steps, or take it out of the loop.

    When it abstains:
        When the workload marks no steady steps or fewer than 16 of a kind, and for a server, whose
        steps differ with the requests.
    """
    steady = steady_iterations(iterations)
    rows = beats(steady, requests, spans)
    if loop is not None and loop.refreshes is not None:
        yield _misses(rows[0], loop.refreshes)
        return
    for row in rows:
        two = modes(row.times)
        swings = two.are_two_kinds(
            excess=least_excess,
            share=least_share,
            separation=least_separation,
            changes=least_changes,
        )
        if swings and not _is_of_work(row, two):
            unit_name = unit(steady)
            yield _swinging(row, two, happenings, unit_name)
        elif not swings and row.variation_of_rest * row.certain > limit:
            yield _uneven(row, unit(steady))


def _is_of_work(row: Beats, two: Modes) -> bool:
    """Return whether the slow steps take longer because of longer device work."""
    if not row.has_work:
        return False
    work_of_slow = row.work[two.slow]
    slow_work = np.median(work_of_slow)
    work_of_fast = row.work[~two.slow]
    fast_work = np.median(work_of_fast)
    more = float(slow_work - fast_work)
    time_difference = two.slow_time - two.fast_time
    least_difference = _OF_WORK * time_difference
    return more >= least_difference


def _misses(row: Beats, refreshes: Refreshes) -> Finding:
    counts = refreshes.counts
    usual_count = refreshes.usual_count
    slow_counts = counts[counts > usual_count]
    slow = int(np.median(slow_counts))
    missed_refreshes = counts - usual_count
    extra_counts = np.maximum(missed_refreshes, 0)
    extra_durations = extra_counts * refreshes.period
    lost_time = float(extra_durations.sum())
    frame_count = int(counts.size)
    work = float(np.median(row.work))
    frame_time = float(counts.sum() * refreshes.period)
    lost_share = lost_time / frame_time
    facts = (
        Fact("missed_share", refreshes.missed_share, "ratio"),
        Fact("frames", frame_count),
        Fact("refresh", refreshes.period, "ns"),
        Fact("usual", usual_count),
        Fact("slow", slow),
        Fact("work", work, "ns"),
        Fact("lost_share", lost_share, "ratio"),
    )
    evidence = longest("steps", row.starts, row.ends)
    saving = round(lost_time)
    return finding(
        wording="irregular-cadence-refreshes",
        facts=facts,
        lever=Mechanism.MISSED_REFRESHES,
        evidence=evidence,
        saving=saving,
    )


def _swinging(row: Beats, two: Modes, happenings: Happenings, called: str) -> Finding:
    extra_times = row.times - two.fast_time
    excess = extra_times.astype(np.float64)
    explanation = explain(row, two.slow, excess, happenings)
    slow_count = int(two.slow.sum())
    lost_time = (two.slow_time - two.fast_time) * slow_count
    slow_share = float(two.slow.mean())
    step_count = int(two.slow.size)
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("fast", two.fast_time, "ns"),
        Fact("slow", two.slow_time, "ns"),
        Fact("slow_share", slow_share, "ratio"),
        Fact("changes", two.changes),
        Fact("steps", step_count),
        Fact("causes", explanation.cause_words),
        Fact("unexplained", explanation.unexplained_count),
    )
    slow_starts = row.starts[two.slow]
    slow_ends = row.ends[two.slow]
    evidence = longest("steps", slow_starts, slow_ends)
    compiled_time = float(explanation.compiled.sum())
    saving = round(max(0.0, lost_time - compiled_time))
    return finding(
        wording="irregular-cadence-swings",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        cause=explanation.mechanism,
        evidence=evidence,
        saving=saving,
        within=explanation.enclosing_rule,
    )


def _uneven(row: Beats, called: str) -> Finding:
    facts = (
        Fact("unit", called),
        Fact("variant", row.variant),
        Fact("variation", row.variation, "ratio"),
        *facts_of_spread(row.times),
        Fact("work_known", row.has_work),
    )
    evidence = longest("steps", row.starts, row.ends)
    return finding(
        wording="irregular-cadence-uneven",
        facts=facts,
        lever=Mechanism.UNEVEN_WORK,
        evidence=evidence,
    )
