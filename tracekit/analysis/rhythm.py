"""The rhythm of the workload's steps: its evenness, its outliers, and their causes."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.pieces import CAUSES
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, Times, in_order
from tracekit.analysis.intervals import gaps as gaps_between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import quiet_limit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact
from tracekit.analysis.scope import of_a_server, reference_work, steady_steps
from tracekit.analysis.upkeep import wirings
from tracekit.workload import COMPILE, IDLE, REFERENCE

FEWEST = 16
"""Fewer steps than this have no rhythm that could be judged."""

LEAST_Z = 8.0
"""How many robust standard deviations a spike is beyond its neighbours' median."""
LEAST_EXCESS = 0.5
"""How much longer than that median a spike is at least, as a share of it."""

_SIGMA = 1.4826  # standard deviation / median absolute deviation of a normal distribution
_NEIGHBOURS = 31
_OTHER = 0.25  # largest usual deviation of the number of intervals, as a share
_LEAST_SPREAD = 0.01  # of a typical step: no clock and no scheduler is steadier


@dataclass(frozen=True, eq=False)
class Beats:
    """Steady steps of one variant, in order of their starts.

    A beat ends at the start of the next step, or of the reference work that precedes it. A step
    without a successor has no beat: in a loop that submits ahead the last one waits for all work in
    flight. For iterations without marks, a beat is the time from the device's end of one to its end
    of the next: a host that runs ahead submits in a rhythm of its own, which does not matter to the
    user. `work` is the device time of each (ns), and `pieces` the number of its intervals; NaN if
    unknown.
    """

    variant: str
    starts: Times
    ends: Times
    work: NDArray[np.float64]
    pieces: NDArray[np.float64]

    @property
    def times(self) -> Times:
        """The length of each beat, in ns."""
        return self.ends - self.starts

    @property
    def variation(self) -> float:
        """The variation from one beat to the next: a robust coefficient of variation.

        The median of the absolute differences of neighbours, scaled to a standard deviation of
        normal noise (by 1.4826 / √2), over the median beat. A slow drift, such as that of a growing
        context, adds nothing, and neither do single outliers.
        """
        return _vary(self.times, self.times)

    @property
    def variation_of_rest(self) -> float:
        """The variation of the time outside device work, over the median beat."""
        return _vary(self.rest_times, self.times)

    @property
    def variation_of_work(self) -> float:
        """The variation of the device work, over its median; 0 if it is unknown."""
        if not self.has_work:
            return 0.0
        return _vary(self.work, self.work)

    @property
    def is_other_work(self) -> NDArray[np.bool_]:
        """Whether each beat has far more or fewer intervals of device work than usual.

        Such beats do different work; the others do the same work, though it may take longer.
        """
        median_pieces = float(np.median(self.pieces))
        with np.errstate(invalid="ignore"):
            distances = np.abs(self.pieces - median_pieces)
            return distances > _OTHER * median_pieces

    @property
    def certain(self) -> float:
        """The certain part of a variation for this number of beats, by one standard error.

        A median of absolute differences has a relative standard error of about 1.17 / √n.
        """
        return float(1 - 1.17 / np.sqrt(self.starts.size))

    @property
    def has_work(self) -> bool:
        """Whether the device work of each beat is known."""
        return bool(np.isfinite(self.work).all() and np.median(self.work) > 0)

    @property
    def rest_times(self) -> NDArray[np.float64]:
        """The length of each beat without its own device work, in ns, at least 0.

        Unknown work counts as none.
        """
        work_times = np.nan_to_num(self.work)
        return np.maximum(self.times - work_times, 0)

    @property
    def of_variant(self) -> str:
        """The variant of the steps as words in a sentence; empty if all are alike."""
        if not self.variant:
            return ""
        return f" of {self.variant}"


def _vary(values: NDArray[np.float64] | Times, typical: NDArray[np.float64] | Times) -> float:
    """Return the variation of neighbours, as defined by `Beats.variation`."""
    step_changes = np.abs(np.diff(values))
    apart = float(np.median(step_changes))
    deviation = _SIGMA * apart / np.sqrt(2)
    return float(deviation / np.median(typical))


def beats(
    steps: pd.DataFrame, requests: pd.DataFrame | None, annotations: pd.DataFrame | None = None
) -> tuple[Beats, ...]:
    """Return the rhythm of the steady steps, separately for each variant."""
    if of_a_server(steps, requests, annotations):
        raise Unavailable(
            "the steps are a server's, which differ with the requests that arrive; "
            "the metric tick_spikes counts those that took too long."
        )
    steady = in_order(steady_steps(steps))
    by_device = _by_device(steady)
    follows, starts, ends = by_device or _by_starts(steps, steady)
    ends = _until_reference(starts, ends, annotations)
    work = _read_column(steady, "work")
    pieces = _read_column(steady, "pieces")
    rows: list[Beats] = []
    for name, of_variant in _by_variant(steady):
        chosen = follows & of_variant
        if chosen.any():
            chosen_work = work[chosen], pieces[chosen]
            row = Beats(name, starts[chosen], ends[chosen], *chosen_work)
            rows.append(row)
    return tuple(_long_enough(tuple(rows)))


def _by_variant(steady: pd.DataFrame) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the variants in order, each with the mask of its steps."""
    if "variant" not in steady:
        return [("", np.ones(len(steady), np.bool_))]
    variants = steady["variant"].fillna("")
    codes, names = pd.factorize(variants, sort=True)
    return [(str(name), codes == code) for code, name in enumerate(names)]


def _read_column(steady: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, NaN for unknown values or a missing column."""
    if name not in steady:
        return np.full(len(steady), np.nan)
    numbers = steady[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(numbers, np.float64)


_Beaten = tuple[NDArray[np.bool_], Times, Times]


def _by_device(steady: pd.DataFrame) -> _Beaten | None:
    """Return the mask of iterations that follow another one, and beats by ends of device work.

    None for steps that a workload marks, and if such ends are unknown or not in order.
    """
    unmarked = "ended" in steady and not (steady["source"] == "steps").any()
    if not unmarked or steady["ended"].isna().any():
        return None
    device_ends = steady["ended"].to_numpy(dtype=np.int64)
    if device_ends.size < FEWEST or (np.diff(device_ends) <= 0).any():
        return None
    starts, ends = bounds(steady)
    near = 0
    if not (steady["source"] == "structure").all():
        near = quiet_limit(starts)
    is_near = starts[1:] - ends[:-1] <= near
    follows = np.append(False, is_near)
    return follows, np.roll(device_ends, 1), device_ends


def _by_starts(steps: pd.DataFrame, steady: pd.DataFrame) -> _Beaten:
    """Return the mask of steps with another one right after them, and beats by the starts."""
    starts = bounds(steady)[0]
    followed = _find_followed(steps, steady)
    return followed, starts, np.roll(starts, -1)


def _find_followed(steps: pd.DataFrame, steady: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which steady steps have another one right after them, without a pause."""
    starts, ends = bounds(steady)
    sorted_starts = np.sort(bounds(steps)[0])
    places = sorted_starts.searchsorted(starts)
    follows = np.diff(places, append=-1) == 1
    if "source" in steady and not (steady["source"] == "steps").all():
        near = 0
        if not (steady["source"] == "structure").all():
            near = quiet_limit(starts)
        is_near = starts[1:] - ends[:-1] <= near
        follows[:-1] &= is_near
    return follows


def _until_reference(starts: Times, ends: Times, annotations: pd.DataFrame | None) -> Times:
    """End beats at the start of reference work in them, which runs just before the next step."""
    sorted_starts = np.sort(reference_work(annotations)[0])
    reference_starts = np.append(sorted_starts, np.iinfo(np.int64).max)
    next_references = reference_starts[reference_starts.searchsorted(starts)]
    return np.minimum(ends, next_references)


def _long_enough(rows: tuple[Beats, ...]) -> list[Beats]:
    many = [row for row in rows if row.starts.size >= FEWEST and np.median(row.times) > 0]
    if not many:
        longest_row = max((row.starts.size for row in rows), default=0)
        raise Unavailable(
            f"a rhythm takes {FEWEST} steady steps in a row, each with another one behind it; "
            f"the longest row has {longest_row:,}."
        )
    return many


def spikes(
    row: Beats, least_z: float = LEAST_Z, least_excess: float = LEAST_EXCESS
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which beats are far longer than their neighbours, and the excess of each beat; ns."""
    neighbours = pd.Series(row.times).rolling(_NEIGHBOURS, center=True, min_periods=1)
    around = neighbours.median()
    typical = around.to_numpy(dtype=np.float64)
    excess = row.times - typical
    spread = max(row.variation, _LEAST_SPREAD) * typical
    stands_out = excess > least_z * spread
    is_large = excess > least_excess * typical
    return stands_out & is_large, excess


_REGULAR = 0.7  # of the distances between spikes
_FEWEST_SPIKES = 4


def period(chosen: NDArray[np.bool_]) -> int | None:
    """Return the distance between spikes in beats, if most distances are equal; else None."""
    apart = np.diff(np.flatnonzero(chosen))
    if apart.size + 1 < _FEWEST_SPIKES:
        return None
    median_distance = int(np.median(apart))
    distances = np.abs(apart - median_distance)
    near = distances <= max(0, median_distance // 10)
    if median_distance > 1 and near.mean() >= _REGULAR:
        return median_distance
    return None


BESIDE = "other processes used the GPU"
_WIRED = "the driver wired memory"
_THERMAL = "the thermal state was"
_CLOCKED = "the performance state was"
_SPAN = "the workload was in its span"
_IDLE = "the device was idle"
LONGER_WORK = "the device worked longer for the target"
WITHOUT_WORK = "the device had nothing of the target to do"
COMPILED = "shaders were compiled"


@dataclass(frozen=True)
class Happening:
    """Stretches of time that may explain a slow step, and their `description` in words."""

    description: str
    when: IntervalSet


@dataclass(frozen=True, eq=False)
class Happenings:
    """Events during the steps, by the tables that show them.

    They are collected only to explain a slow step, which most recordings do not have.
    """

    gpu_intervals: pd.DataFrame | None
    compiler_activity: pd.DataFrame | None
    driver_events: pd.DataFrame | None
    gpu_performance_states: pd.DataFrame | None
    thermal_states: pd.DataFrame | None
    spans: pd.DataFrame | None
    handover: Handover | None
    gaps: pd.DataFrame | None

    @cached_property
    def ranked_happenings(self) -> tuple[Happening, ...]:
        """All kinds of recorded happenings, in order of relevance.

        A compile explains more than a span of the workload, and a span more than an idle device.
        Idle time has the causes of the table `gaps`. As in that table, only work on the target's
        channels counts for other processes.
        """
        of_the_host = _of_the_host(self.compiler_activity, self.spans)
        of_others = _of_others(self.gpu_intervals)
        listed = [
            *of_the_host,
            *of_others,
        ]
        if self.driver_events is not None:
            listed.append(_happening(_WIRED, wirings(self.driver_events)))
        did = self.spans
        if did is not None:
            is_left_out = did["name"].isin([COMPILE, IDLE, REFERENCE])
            did = did[~is_left_out]
        described_frames = (
            (self.thermal_states, "state", f"{_THERMAL} {{}}"),
            (self.gpu_performance_states, "state", f"{_CLOCKED} {{}}"),
            (did, "name", f"{_SPAN} “{{}}”"),
        )
        for frame, column, words in described_frames:
            if frame is not None:
                groups = frame.groupby(column, sort=True)
                listed += [_happening(words.format(value), rows) for value, rows in groups]
        listed += _idle_by_cause(self.gaps)
        if self.gpu_intervals is not None and _has_work_times(self.gpu_intervals, self.handover):
            listed += _of_the_target(self.gpu_intervals)
        return tuple(happening for happening in listed if happening.when.starts.size)


def happenings(
    gpu_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    thermal_states: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    handover: Handover | None,
    gaps: pd.DataFrame | None,
) -> Happenings:
    """Return the events during the steps."""
    return Happenings(
        gpu_intervals,
        compiler_activity,
        driver_events,
        gpu_performance_states,
        thermal_states,
        spans,
        handover,
        gaps,
    )


def _of_the_host(
    compiler_activity: pd.DataFrame | None, spans: pd.DataFrame | None
) -> list[Happening]:
    """Return when pipelines were compiled, by the trace and by the workload's spans."""
    compiled: list[pd.DataFrame] = []
    if compiler_activity is not None:
        compiled.append(compiler_activity[compiler_activity["target"]])
    if spans is not None:
        compile_spans = spans[spans["name"] == COMPILE]
        compiled.append(compile_spans)
    if not compiled:
        return []
    parts = [part[["start", "duration"]] for part in compiled]
    compilations = pd.concat(parts)
    return [_happening(COMPILED, compilations)]


def _of_others(gpu_intervals: pd.DataFrame | None) -> list[Happening]:
    """Return when other processes used the target's channels."""
    if gpu_intervals is None:
        return []
    other_intervals = gpu_intervals[~gpu_intervals["target"]]
    if "channel" in gpu_intervals:
        target_channels = gpu_intervals.loc[gpu_intervals["target"], "channel"]
        channels = target_channels.unique()
        other_intervals = other_intervals[other_intervals["channel"].isin(channels)]
    return [_happening(BESIDE, other_intervals)]


def _of_the_target(gpu_intervals: pd.DataFrame) -> list[Happening]:
    """Return when the device had no work of the target, and when it had some."""
    target_times = gpu_intervals.loc[gpu_intervals["target"], ["start", "duration"]]
    target_work = _happening(LONGER_WORK, target_times)
    work_intervals = target_work.when
    if not work_intervals.starts.size:
        return []
    first_start = int(work_intervals.starts[0])
    last_end = int(work_intervals.ends[-1])
    idle = gaps_between(
        work_intervals.starts,
        work_intervals.ends,
        first_start,
        last_end,
    )
    return [Happening(WITHOUT_WORK, IntervalSet(*idle)), target_work]


def _has_work_times(gpu_intervals: pd.DataFrame, handover: Handover | None) -> bool:
    """Return whether intervals are times of work, which a host's clock does not always show."""
    by_a_host = "clock" in gpu_intervals and (gpu_intervals["clock"] == "host").any()
    return handover is not None or not by_a_host


def _idle_by_cause(gaps: pd.DataFrame | None) -> list[Happening]:
    if gaps is None:
        return []
    words = {str(cause): f"{_IDLE}: {text}" for cause, text in CAUSES.items()}
    groups = gaps.groupby("cause", observed=True, sort=True)
    return [_happening(words[str(cause)], rows) for cause, rows in groups]


def _happening(description: str, rows: pd.DataFrame) -> Happening:
    return Happening(description, IntervalSet.from_spans(*bounds(rows)))


UNEXPLAINED = ""
_STATES = (_THERMAL, _CLOCKED, _SPAN)
_MECHANISMS = {
    COMPILED: Mechanism.COMPILE_IN_LOOP,
    BESIDE: Mechanism.OTHER_PROCESS,
    _WIRED: Mechanism.WIRING,
    _THERMAL: Mechanism.THERMAL,
    _CLOCKED: Mechanism.CLOCK_UNKNOWN,
    _SPAN: Mechanism.PERIODIC_WAIT,
    _IDLE: Mechanism.HOST_ELSEWHERE,
    WITHOUT_WORK: Mechanism.HOST_ELSEWHERE,
    LONGER_WORK: Mechanism.UNEVEN_WORK,
}
"""The first words of causes, and the mechanism of each."""
_LISTED = 3

_MOST = 0.5  # share of a slow step's excess that a happening must cover to explain it


@dataclass(frozen=True, eq=False)
class Explanation:
    """The cause of each slow step, in order; ns.

    `excess` is the step's time beyond the usual, `compiled` and `idle` the parts of it in compiles
    and without work of the target on the device.
    """

    causes: tuple[str, ...]
    excess: NDArray[np.float64]
    compiled: NDArray[np.float64]
    idle: NDArray[np.float64]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism behind the most common cause."""
        common_cause, _ = Counter(self.causes).most_common(1)[0]
        mechanisms = (name for words, name in _MECHANISMS.items() if common_cause.startswith(words))
        return next(mechanisms, Mechanism.SPIKES_UNEXPLAINED)

    @property
    def cause_words(self) -> str:
        """The causes in words, the most common first, each with its number; "" without any."""
        known_causes = [cause for cause in self.causes if cause != UNEXPLAINED]
        counts = Counter(known_causes)
        if len(counts) == 1 and len(self.causes) == counts.total():
            return next(iter(counts))
        common_causes = counts.most_common(_LISTED)
        counted_causes = [f"{cause} ({number:,})" for cause, number in common_causes]
        return ", ".join(counted_causes)

    @property
    def unexplained_count(self) -> int:
        """The number of steps that no recorded event explains."""
        return self.causes.count(UNEXPLAINED)

    @property
    def lost_time(self) -> float:
        """The excess in ns, without compiles, and without steps with longer work of the target."""
        is_lost = np.array([cause != LONGER_WORK for cause in self.causes], dtype=np.bool_)
        return float((self.excess - self.compiled)[is_lost].sum())

    @property
    def is_mostly_idle(self) -> bool:
        """Whether the device was idle for most of the time."""
        idle_time = self.idle.sum()
        return bool(idle_time > _MOST * self.excess.sum())

    @property
    def enclosing_rule(self) -> str:
        """The rule that also counts most of the time: bubbles, if the device was idle."""
        return "bubbles" if self.is_mostly_idle else ""


def explain(
    beats: Beats, slow: NDArray[np.bool_], excess: NDArray[np.float64], happenings: Happenings
) -> Explanation:
    """Find for each slow step the most relevant happening that covers most of its excess.

    Only the part of a happening beyond that of the other steps counts: an event in all of them
    explains nothing. A state, which persists, counts beyond its share in the other steps. `excess`
    is the time of each beat beyond the usual, in ns.
    """
    times = beats.times[slow]
    needed = _MOST * excess[slow]
    causes = np.full(times.size, UNEXPLAINED, dtype=object)
    compiled = np.zeros(times.size)
    idle = np.zeros(times.size)
    for happening in happenings.ranked_happenings:
        description = happening.description
        covered = happening.when.measure_within(beats.starts, beats.ends)
        usual_cover = np.median(covered[~slow])
        beyond = covered[slow] - usual_cover
        if description.startswith(_STATES):
            usual_time = max(1, beats.times[~slow].sum())
            usual_share = covered[~slow].sum() / usual_time
            beyond = covered[slow] - usual_share * times
        if description == COMPILED:
            compiled = np.clip(beyond, 0, excess[slow])
        if description == WITHOUT_WORK:
            idle = np.clip(beyond, 0, excess[slow])
        explains = (causes == UNEXPLAINED) & (beyond >= needed)
        causes[explains] = description
    idle_alone = np.clip(idle - compiled, 0, None)
    return Explanation(tuple(causes), excess[slow], compiled, idle_alone)


def beside_others(
    beats: Beats, far: NDArray[np.bool_], other_intervals: pd.DataFrame
) -> NDArray[np.bool_]:
    """Return in which of the far longer beats the device also ran for other processes.

    All channels count because they share the cores, so that the same work takes longer with another
    process. Such work counts if it lasted for half of the additional device time.
    """
    other_work = IntervalSet.from_spans(*bounds(other_intervals))
    shared = other_work.measure_within(beats.starts, beats.ends)
    usual_shared = np.median(shared[~far])
    beyond = shared - usual_shared
    usual_work = np.median(beats.work[~far])
    longer = beats.work - usual_work
    return far & (beyond >= _MOST * longer)


def facts_of_spread(values: Times | NDArray[np.float64]) -> tuple[Fact, ...]:
    """Return the 5th, 50th and 95th percentiles of times, in ns."""
    percentiles = np.percentile(values, (5, 50, 95))
    low_percentile, middle, high_percentile = percentiles.tolist()
    return (
        Fact("low", low_percentile, "ns"),
        Fact("middle", middle, "ns"),
        Fact("high", high_percentile, "ns"),
    )


_ENDS = (0.05, 0.95)  # quantiles; extremes beyond them must not separate the modes by themselves


@dataclass(frozen=True, eq=False)
class Modes:
    """Two speeds: the slow steps, the time of a fast and of a slow one (ns), and the changes.

    `separation` is the distance of both over the wider one's robust standard deviation.
    """

    slow: NDArray[np.bool_]
    fast_time: float
    slow_time: float
    changes: int
    separation: float

    def are_two_kinds(
        self, *, excess: float, share: float, separation: float, changes: int
    ) -> bool:
        """Return whether these are two speeds: clearly apart, neither rare, alternating."""
        return (
            self.excess >= excess
            and self.minority >= share
            and self.separation >= separation
            and self.changes >= changes
        )

    @property
    def minority(self) -> float:
        """The share of the rarer speed."""
        share = float(self.slow.mean())
        return min(share, 1 - share)

    @property
    def excess(self) -> float:
        """The additional time of a slow step, as a share of a fast one; inf if that takes none."""
        if self.fast_time:
            return self.slow_time / self.fast_time - 1
        return float("inf")


def modes(times: Times) -> Modes:
    """Split the steps into fast and slow ones."""
    limits = np.quantile(times, _ENDS)
    capped = np.clip(times, *limits).astype(np.float64)
    ordered = np.sort(capped)
    split = best_split(ordered)
    slow = capped > ordered[split - 1]
    if not slow.any():
        middle = float(np.median(times))
        return Modes(slow, middle, middle, 0, 0.0)
    fast_time = float(np.median(times[~slow]))
    slow_time = float(np.median(times[slow]))
    wider = max(spread(times[~slow]), spread(times[slow]), _LEAST_SPREAD * fast_time)
    changes = int(np.count_nonzero(np.diff(slow)))
    separation = (slow_time - fast_time) / wider
    return Modes(slow, fast_time, slow_time, changes, separation)


def best_split(values: NDArray[np.float64], smallest_part: int = 1) -> int:
    """Return the length of the first of two parts of a row that are most uniform.

    The split is the one of least squares, as that of k-means for two clusters in one dimension,
    found exactly; each part has at least `smallest_part` values.
    """
    last_place = values.size - smallest_part + 1
    places = np.arange(smallest_part, last_place)
    sums = np.cumsum(values)
    left_sum = sums[places - 1]
    right = sums[-1] - sums[places - 1]
    left_score = left_sum**2 / places
    right_score = right**2 / (values.size - places)
    return int(places[np.argmax(left_score + right_score)])


def spread(times: NDArray[np.float64] | Times) -> float:
    """Return a robust standard deviation: the scaled median of absolute deviations."""
    distances = np.abs(times - np.median(times))
    return _SIGMA * float(np.median(distances))


_SIDE = 8  # iterations on either side, at least
_NEAR = 4  # iterations on either side of the border that must have the level of their side
_CLEAR = 6.0  # robust deviations between both levels
_AT_ONCE = 0.75  # share of the rise that occurs between two neighbours


def find_border(times: NDArray[np.float64]) -> int | None:
    """Return the place from which the times are higher, both sides steady; None without one."""
    if times.size < 2 * _SIDE:
        return None
    border = best_split(times, _SIDE)
    sides = times[:border], times[border:]
    lower_level, upper_level = (float(np.median(side)) for side in sides)
    level_behind = np.median(times[border : border + _NEAR])
    level_before = np.median(times[border - _NEAR : border])
    near = level_behind - level_before
    middle = (lower_level + upper_level) / 2
    near *= times[border - 1] < middle < times[border]
    largest_spread = max(map(spread, sides))
    clear = upper_level - lower_level > _CLEAR * largest_spread and near > _AT_ONCE * (
        upper_level - lower_level
    )
    if upper_level > lower_level and clear:
        return border
    return None
