"""`step-spikes`: a few steps take far longer than their neighbours."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.beats import LEAST_EXCESS, LEAST_Z, Beats, beats, period, spikes
from tracekit.analysis.happenings import BESIDE, COMPILED, LONGER_WORK, Happenings
from tracekit.analysis.intervals import IntervalSet
from tracekit.analysis.intervals import spans as spans_of
from tracekit.analysis.iterations import steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.repetition import Structure
from tracekit.analysis.rhythm import Explanation, beside_others, explain
from tracekit.analysis.rule import Fact, Finding, Findings, finding, longest
from tracekit.analysis.scope import Device


def step_spikes(
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    happenings: Happenings,
    spans: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
    gpu: Device | None,
    structure: Structure | None,
    pauses: pd.DataFrame | None,
    *,
    least_z: float = LEAST_Z,
    least_excess: float = LEAST_EXCESS,
    most: float = 0.15,
    fewest: int = 3,
    limit: float = 0.01,
) -> Findings:
    """A few steps take far longer than the others.

    What it looks for:
        Steady steps, from the start of one to the start of the next, that are `least_z` (8) robust
        standard deviations and `least_excess` (50 %) of the median above the steps around them.
        Iterations without marks are measured from the device's end of one to its end of the next.
        It fires when their excess over that median is more than `limit` (1 %) of the time of all
        steady steps. Each spike is explained by events that take more time in it than their usual
        share in the other steps: compilations, other processes, memory, states of the machine,
        spans that the workload reports, an idle device. Spikes at a regular distance are reported
        as such. In a loop without marks the rule needs `fewest` of them (3), because a single one
        may be a stop of the program. If more than `most` (15 %) of the steps are that long, they
        are not spikes: irregular-cadence judges them. Steps that do other work, in far more or
        fewer pieces, belong to uneven-work, as do longer groups of command buffers that recur in
        the same order, and those in which shaders were compiled belong to pipeline-churn;
        iterations that open a request are not spikes. If several variants are compared, each is
        judged by itself. Idle time of the device also counts in bubbles; longer work of the device
        is not a time that could be saved.

    Why it matters:
        A spike delays a result that a person waits for, and mean values hide it.

    What to do:
        Take the cause of most of them out of the loop, or do that work while the device is busy.

    When it abstains:
        When the workload marks no steady steps or fewer than 16 of a kind, and for a server, whose
        steps differ with the requests.
    """
    steady = steady_iterations(iterations)
    marked = bool("source" not in steady or (steady["source"] == "steps").all())
    compiles_known = compiler_activity is not None or specializations is not None
    least_number = fewest
    if marked:
        least_number = 1
    for row in beats(steady, requests, spans):
        chosen, excess = spikes(row, least_z, least_excess)
        least_time = limit * row.times.sum()
        if (
            chosen.mean() > most
            or chosen.sum() < least_number
            or excess[chosen].sum() <= least_time
        ):
            continue
        explanation = _explain_spikes(row, chosen, excess, happenings, gpu)
        causes = np.array(explanation.causes, dtype=object)
        kept_spikes = ~((causes == LONGER_WORK) & row.is_other_work[chosen])
        if pauses is not None:
            kept_spikes &= ~_holds_pause(row, excess, pauses)[chosen]
        if compiles_known:
            kept_spikes &= causes != COMPILED
        if structure is not None and len(structure.kinds) > 1:
            kept_spikes &= causes != LONGER_WORK
        chosen[np.flatnonzero(chosen)[~kept_spikes]] = False
        if chosen.sum() >= least_number and excess[chosen].sum() > least_time:
            explanation = _explain_spikes(row, chosen, excess, happenings, gpu)
            yield _finding(row, chosen, excess, explanation, unit(steady), marked=marked)


def _holds_pause(
    row: Beats, excess: NDArray[np.float64], pauses: pd.DataFrame
) -> NDArray[np.bool_]:
    """Return whether most of the excess of each beat is a pause, in which nothing was asked for."""
    paused = IntervalSet.from_spans(*spans_of(pauses)).measure_within(row.starts, row.ends)
    return paused > excess / 2


def _explain_spikes(
    row: Beats,
    chosen: NDArray[np.bool_],
    excess: NDArray[np.float64],
    happenings: Happenings,
    gpu: Device | None,
) -> Explanation:
    """Explain the spikes; device work takes longer during work of other processes."""
    explanation = explain(row, chosen, excess, happenings)
    if gpu is None or not row.has_work or chosen.all():
        return explanation
    shared_spikes = beside_others(row, chosen, gpu.other_intervals)[chosen]
    pairs = zip(explanation.causes, shared_spikes.tolist(), strict=True)
    causes = (BESIDE if is_shared and cause == LONGER_WORK else cause for cause, is_shared in pairs)
    cause_list = tuple(causes)
    return replace(explanation, causes=cause_list)


def _finding(
    row: Beats,
    chosen: NDArray[np.bool_],
    excess: NDArray[np.float64],
    explanation: Explanation,
    called: str,
    *,
    marked: bool,
) -> Finding:
    lost_time = float(excess[chosen].sum())
    spike_period = period(chosen)
    spike_count = int(chosen.sum())
    step_count = int(chosen.size)
    chosen_times = row.times[chosen]
    longest_time = int(chosen_times.max())
    typical_step = np.median(row.times)
    typical_time = float(typical_step)
    total_time = float(row.times.sum())
    lost_share = lost_time / total_time
    is_unsure = bool(spike_period) and not marked
    facts = (
        Fact("unit", called),
        Fact("spikes", spike_count),
        Fact("steps", step_count),
        Fact("variant", row.variant),
        Fact("longest", longest_time, "ns"),
        Fact("usual", typical_time, "ns"),
        Fact("lost", lost_time, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        Fact("window", f"the time of all {called}s"),
        Fact("every", spike_period),
        Fact("unsure", is_unsure),
        Fact("causes", explanation.cause_words),
        Fact("unexplained", explanation.unexplained_count),
    )
    lever = explanation.mechanism
    if spike_period and explanation.is_mostly_idle:
        lever = Mechanism.PERIODIC_WAIT
    chosen_starts = row.starts[chosen]
    chosen_ends = row.ends[chosen]
    evidence = longest("steps", chosen_starts, chosen_ends, explanation.causes)
    saving = round(explanation.lost_time) or None
    return finding(
        wording="step-spikes",
        facts=facts,
        lever=lever,
        evidence=evidence,
        saving=saving,
        within=explanation.enclosing_rule,
    )
