"""The tables `loaded`, `gaps` and `causes`: time with work to do, its idle part, and the causes.

Each moment of idle time has one cause: the first that fits, in an order of precedence. If the table
that shows a cause is missing, the time of that cause counts for a later one. The times of the later
causes are then unknown as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.awaited import awaited_of
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.pieces import CAUSES, FEWEST, Cause, Party, attribute_gaps
from tracekit.analysis.idle.samples import other_thread
from tracekit.analysis.idle.surroundings import (
    NO_WORK,
    Surroundings,
    find_encoding,
    union_target_rows,
)
from tracekit.analysis.idle.waits import Waits, sampled_waits, waits_by_calls, waits_of
from tracekit.analysis.idle.work import DeviceWork
from tracekit.analysis.inject import ON_THE_CPU, Unavailable
from tracekit.analysis.intervals import FOREVER, EqualRuns, IntervalSet, Times, heads_of
from tracekit.analysis.intervals import gaps as between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Evidence, longest_first
from tracekit.analysis.scope import Device
from tracekit.base import units
from tracekit.workload import COMPILE

_DRIVEN = ("driver intervals", "driver events")
# The sources of each cause's share: the table that shows the cause, and those of earlier causes.
_NEEDS: dict[Cause, tuple[str, ...]] = {
    Cause.BETWEEN_ENCODERS: (),
    Cause.BETWEEN_BUFFERS: (*_DRIVEN, "states"),
    Cause.START: (*_DRIVEN, "states"),
    Cause.LATE_START: (*_DRIVEN, "states"),
    Cause.DRIVER: _DRIVEN,
    Cause.WIRING: ("driver events",),
    Cause.OTHER_PROCESS: _DRIVEN,
    Cause.POWERING_UP: (*_DRIVEN, "states"),
    Cause.REPORT: ("completions",),
    Cause.OTHER_DEVICE: (),
    Cause.COMPILE: ("compiles",),
    Cause.ENCODING: ("compiles", *_DRIVEN, "encoding", "completions"),
    Cause.HOST: ("compiles", *_DRIVEN, "encoding", "completions"),
    Cause.UNATTRIBUTED: (),
}
_OF_THE_HOST: tuple[Cause, ...] = (Cause.ENCODING, Cause.HOST)
_MISSING = {
    "compiles": "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
    f"did the workload report spans “{COMPILE}”.",
    "driver intervals": "no driver interval of the target (metal-driver-intervals) was recorded.",
    "driver events": "driver events (metal-driver-event-intervals), which show when memory was "
    "wired, were not recorded.",
    "completions": "no completion of a command buffer of the target "
    "(metal-command-buffer-completed) was recorded.",
    "encoding": "neither encoders (metal-application-encoders-list) nor submissions of command "
    "buffers (metal-application-command-buffer-submissions), which show when the host encoded, "
    "were recorded.",
    "states": "no performance state of the GPU (gpu-performance-state-intervals) was recorded.",
}
_LACKING = {
    "compiles": "compiler activity",
    "driver intervals": "driver intervals",
    "driver events": "driver events",
    "completions": "completions of command buffers",
    "encoding": "encoders and submissions",
    "states": "performance states",
}
"""The sources, in a few words."""
_CALLS = "the workload's calls"
_NO_CALLS = "the calls of the workload, which show when it built its work, were not recorded."


def causes_table(
    gaps: pd.DataFrame,
    device: Device,
    spans: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `causes`: each `cause`, and the `reason` why its share is unknown, or null.

    A third column, `lacks`, names the missing sources in a few words. Without gaps, no cause took
    any time.
    """
    if device.on_the_host:
        return _causes_on_a_cpu(spans, submissions)
    if gaps.empty:
        return _table({}, {})
    buffers = device.target_intervals["command_buffer"].dropna()
    missing = {
        "compiles": compiler_activity is None and not _has_span(spans, COMPILE),
        "driver intervals": driver_intervals is None or not driver_intervals["target"].any(),
        "driver events": driver_events is None,
        "completions": completions is None or not completions["command_buffer"].isin(buffers).any(),
        "encoding": find_encoding(encoders, submissions).starts.size == 0,
        "states": gpu_performance_states is None or gpu_performance_states.empty,
    }
    reasons: dict[Cause, str] = {}
    lacks: dict[Cause, str] = {}
    for cause, needed in _NEEDS.items():
        sources = [source for source in needed if missing[source]]
        if sources:
            reasons[cause] = _MISSING[sources[0]]
            lacks[cause] = ", ".join(_LACKING[source] for source in sources)
    return _table(reasons, lacks)


def _causes_on_a_cpu(spans: pd.DataFrame | None, submissions: pd.DataFrame | None) -> pd.DataFrame:
    """Return the table for work on a CPU, whose idle time only the workload itself can explain."""
    known_causes = {*_OF_THE_HOST, Cause.COMPILE, Cause.UNATTRIBUTED}
    reasons: dict[Cause, str] = {}
    lacks: dict[Cause, str] = {}
    for cause in Cause:
        if cause not in known_causes:
            reasons[cause] = ON_THE_CPU
    if not _has_span(spans, COMPILE):
        reasons[Cause.COMPILE] = _MISSING["compiles"]
    if submissions is None or submissions.empty:
        for cause in _OF_THE_HOST:
            reasons[cause] = _NO_CALLS
            lacks[cause] = _CALLS
    return _table(reasons, lacks)


def _table(reasons: dict[Cause, str], lacks: dict[Cause, str]) -> pd.DataFrame:
    names = list(map(str, Cause))
    columns = {
        "cause": pd.array(names, dtype="string"),
        "reason": pd.array(list(map(reasons.get, Cause)), dtype="string"),
        "lacks": pd.array(list(map(lacks.get, Cause)), dtype="string"),
    }
    return pd.DataFrame(columns)


def why_unknown(causes: pd.DataFrame, cause: Cause) -> str:
    """Return the reason why a cause's share is not known; "" if it is known."""
    [reason] = causes.loc[causes["cause"] == str(cause), "reason"]
    return "" if pd.isna(reason) else str(reason)


def name_missing_sources(causes: pd.DataFrame, *chosen: Cause) -> str:
    """Name the missing sources, without which time of one cause may count for another; or "".

    All causes count, or those that are `chosen`.
    """
    rows = causes
    if chosen:
        rows = causes[causes["cause"].isin([str(cause) for cause in chosen])]
    names: list[str] = []
    for cell in rows["lacks"].dropna():
        names.extend(cell.split(", "))
    return ", ".join(dict.fromkeys(names))


def unsure(causes: pd.DataFrame) -> str:
    """Name in a sentence the missing sources, whose time counts for other causes; "" without any.

    For work on a CPU only the workload's calls can be missing: it reports all other causes itself.
    """
    reasons = list(dict.fromkeys(causes["reason"].dropna()))
    if ON_THE_CPU in reasons:
        reasons = [reason for reason in reasons if reason == _NO_CALLS]
    if not reasons:
        return ""
    listed = "; ".join(reason.rstrip(".") for reason in reasons)
    return f"These shares are not sure, as time of one cause may count for another: {listed}."


def _has_span(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())


def loaded_table(
    loop: Loop, spans: pd.DataFrame | None, pauses: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the table `loaded`: the stretches of the window in which there was work to do.

    Three kinds of time are left out: spans `idle` of a server, in which it had no request; spans in
    which the worker timed its reference work; and pauses.
    """
    idle_frames: list[pd.DataFrame] = []
    if pauses is not None:
        idle_frames.append(pauses)
    if spans is not None:
        idle_frames.append(spans[spans["name"].isin(NO_WORK)])
    idle_starts = np.empty(0, np.int64)
    idle_ends = np.empty(0, np.int64)
    for frame in idle_frames:
        frame_starts, frame_ends = bounds(frame)
        idle_starts = np.append(idle_starts, frame_starts)
        idle_ends = np.append(idle_ends, frame_ends)
    starts, ends = between(idle_starts, idle_ends, loop.start, loop.end)
    if not starts.size:
        raise Unavailable(f"there was no load in {loop.name}.")
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def gaps_table(
    loaded: pd.DataFrame,
    handover: Handover,
    life: DeviceWork,
    timeline: pd.DataFrame,
    waits: Waits,
    around: Surroundings,
    submissions: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `gaps`: pieces of the loaded time in which no work of the target ran.

    A gap, however short, is cut into pieces so that each has one party and one cause; the pieces
    of a gap are disjoint and cover it. Columns: `start`, `duration` (ns), `gap` (the number of the
    gap), `device` (the number of the device; each of several has gaps of its own), `party` (the
    party that held the device up, see `Party`), `cause` (see `Cause`), `waited` (whether the thread
    that commits next waited for a report: yes, no, unknown, or none without a report), `during`
    (the activity of the host meanwhile: encoding, driver, wiring memory, compiler, or the name of a
    span of the workload; "" if nothing is known). If `waited` is unknown, a way back and work on
    another device may be the host's time.

    `handover` is required, although nothing reads it: if work cannot be told from its submission,
    the gaps are not known either.
    """
    # So many boundaries are a habit of the loop, and long ones are then not late starts. If samples
    # show another thread at work in them, they are late starts, however many there are.
    usual_count = FEWEST
    if iterations is not None:
        usual_count = max(FEWEST, _OFTEN * len(iterations))
    if cpu_profile is not None and len(cpu_profile):
        alone = _gaps_by_device(loaded, life, timeline, waits, around, FOREVER)
        if other_thread(alone, cpu_profile, submissions):
            return alone
    return _gaps_by_device(loaded, life, timeline, waits, around, usual_count)


def _gaps_by_device(
    loaded: pd.DataFrame,
    life: DeviceWork,
    timeline: pd.DataFrame,
    waits: Waits,
    around: Surroundings,
    many: float,
) -> pd.DataFrame:
    devices = np.flatnonzero(np.bincount(life.device))
    awaited = awaited_of(timeline, waits)
    target = Lives.from_timeline(timeline)
    tables: list[pd.DataFrame] = []
    gap_offset = 0
    for number, device in enumerate(devices.tolist()):
        is_on_device = (timeline["device"] == device).to_numpy()
        running = _union_work(life, life.device == device)
        pieces = attribute_gaps(
            _idle(running, loaded),
            Lives.from_timeline(timeline[is_on_device]),
            awaited.select(is_on_device),
            around,
            target,
            many,
        )
        codes = np.full(len(pieces), number, np.int16)
        numbered = pd.Categorical.from_codes(codes, pd.Index(devices))
        table = pieces.assign(gap=pieces["gap"] + gap_offset, device=numbered)
        tables.append(table)
        if len(table):
            gap_offset += int(table["gap"].max()) + 1
    if len(tables) == 1:
        return GapsTable(tables[0])
    return GapsTable(pd.concat(tables, ignore_index=True))


def _union_work(life: DeviceWork, chosen: NDArray[np.bool_]) -> IntervalSet:
    return IntervalSet.from_spans(life.start[chosen], life.end[chosen])


def waits_table(
    timeline: pd.DataFrame,
    device: Device,
    iterations: pd.DataFrame | None,
    around: Surroundings,
    encoders: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> Waits:
    """Return for each row of the table `timeline` the report before it that its thread waited for.

    For work on a CPU, the workload's own calls show it.
    """
    if device.on_the_host:
        return waits_by_calls(timeline)
    wiring = around.wiring.without(Lives.from_timeline(timeline).on_the_way_there)
    encoding: dict[int, IntervalSet] = {}
    if encoders is not None and "tid" in encoders:
        target_encoders = encoders[encoders["target"]]
        for tid in target_encoders["tid"].dropna().unique().tolist():
            rows = target_encoders[target_encoders["tid"] == tid]
            encoding[tid] = union_target_rows(rows)
    by_samples = sampled_waits(timeline, cpu_profile)
    return waits_of(timeline, iterations, wiring, by_samples, encoding)


def _idle(running: IntervalSet, loaded: pd.DataFrame) -> IntervalSet:
    """Return the parts of the loaded time in which nothing ran."""
    load = union_target_rows(loaded)
    load_start = int(load.starts[0])
    load_end = int(load.ends[-1])
    pause_starts, pause_ends = between(load.starts, load.ends, load_start, load_end)
    starts = np.concatenate((running.starts, pause_starts))
    ends = np.concatenate((running.ends, pause_ends))
    return IntervalSet(*between(starts, ends, load_start, load_end))


_OFTEN = 2  # boundaries an iteration, from which they are a habit of it
_NAMED = 0.2  # share of a gap from which a second cause is named


def devices_of(gaps: pd.DataFrame) -> int:
    """Return the number of devices that have the gaps; one if the table does not name them."""
    if "device" not in gaps:
        return 1
    return max(1, len(gaps["device"].cat.categories))


def idle_time(gaps: pd.DataFrame) -> int:
    """Return the idle time of a device, the mean over all devices, in ns."""
    return round(int(gaps["duration"].sum()) / devices_of(gaps))


def loaded_time(loaded: pd.DataFrame) -> int:
    """Return how long there was work to do in the steady window, in ns."""
    return int(loaded["duration"].sum())


def by_cause(gaps: pd.DataFrame) -> dict[Cause, int]:
    """Return the idle time of each cause, in ns, also of those without any; the sum is all of it.

    Of several devices it is the mean.
    """
    category = gaps["cause"].astype("category").cat
    names = [str(name) for name in category.categories]
    sums = np.bincount(category.codes, weights=gaps["duration"], minlength=len(names))
    by_name = dict(zip(names, sums.tolist(), strict=True))
    devices = devices_of(gaps)
    cause_times: dict[Cause, int] = {}
    for cause in Cause:
        cause_times[cause] = round(by_name.get(str(cause), 0) / devices)
    return cause_times


@dataclass(frozen=True, eq=False)
class Gaps:
    """Some of the gaps, in order; ns.

    `lost_times` is the time in each that has the cause for which they were chosen.
    """

    starts: Times
    ends: Times
    lost_times: Times
    devices: int = 1

    @property
    def count(self) -> int:
        """How many there are."""
        return self.starts.size

    @property
    def time(self) -> int:
        """The time lost in all of them, on one device, in ns; the mean over all devices."""
        return round(int(self.lost_times.sum()) / self.devices)

    @property
    def median(self) -> float:
        """The time lost in a typical one, in ns; 0 without any."""
        if not self.lost_times.size:
            return 0.0
        return float(np.median(self.lost_times))


def gaps_of(gaps: pd.DataFrame, *causes: Cause) -> Gaps:
    """Return the gaps in which time was lost by one of the causes."""
    return _lost_in(gaps, _is_among(gaps["cause"], map(str, causes)))


def _lost_in(gaps: pd.DataFrame, chosen: NDArray[np.bool_]) -> Gaps:
    """Return the gaps that have some of the chosen pieces; the time of these is lost."""
    merged_gaps = whole_gaps(gaps)
    place, lost_times = merged_gaps.time_in(chosen)
    return Gaps(merged_gaps.starts[place], merged_gaps.ends[place], lost_times, devices_of(gaps))


def idle_of_unknown_waits(gaps: pd.DataFrame) -> int:
    """Return the idle time on ways back for which it is unknown whether the host waited, in ns.

    Of several devices it is the mean.
    """
    back = (gaps["party"] == str(Party.WAY_BACK)) & (gaps["waited"] == "unknown")
    return round(int(gaps.loc[back, "duration"].sum()) / devices_of(gaps))


def by_party(gaps: pd.DataFrame, loaded: pd.DataFrame, loop: Loop) -> dict[Party, int]:
    """Return the time of the loop that each party holds, in ns; the sum is all of the loop.

    Of several devices it is the mean.
    """
    sums = gaps.groupby("party", observed=True)["duration"].sum()
    devices = devices_of(gaps)
    party_times: dict[Party, int] = {}
    for party in Party:
        party_times[party] = round(int(sums.get(str(party), 0)) / devices)
    load = loaded_time(loaded)
    party_times[Party.WORKS] = load - sum(party_times.values())
    party_times[Party.PAUSE] = loop.length - load
    return party_times


def gaps_of_waits(gaps: pd.DataFrame, *waited: str) -> Gaps:
    """Return the gaps whose host waited ("yes"), did not ("no"), or may have ("unknown").

    Only gaps with time on the way back, or in the host's time, count; all of each is lost.
    """
    merged_gaps = whole_gaps(gaps)
    parties = (str(Party.WAY_BACK), str(Party.HOST))
    candidates, _ = merged_gaps.time_in(_is_among(gaps["party"], parties))
    candidates_waited = gaps["waited"].take(merged_gaps.first_rows[candidates])
    chosen = candidates[_is_among(candidates_waited, waited)]
    starts = merged_gaps.starts[chosen]
    ends = merged_gaps.ends[chosen]
    return Gaps(starts, ends, ends - starts, devices_of(gaps))


def host_time_without_wait(gaps: pd.DataFrame) -> Gaps:
    """Return the gaps in which the host had not waited; its time in each is lost."""
    of_host = _is_among(gaps["party"], (str(Party.HOST),))
    without_wait = _is_among(gaps["waited"], ("no",))
    return _lost_in(gaps, of_host & without_wait)


def _is_among(column: pd.Series, names: Iterable[str]) -> NDArray[np.bool_]:
    """Return which values of a column of few names are among the names."""
    category = column.astype("category").cat
    chosen_categories = np.asarray(category.categories.isin(list(names)), bool)
    return np.append(chosen_categories, False)[category.codes]  # the code of a null is -1


@dataclass(frozen=True, eq=False)
class WholeGaps:
    """Each gap as one: when it starts and ends, ns, and the rows of its pieces, which are in order.

    `first_rows` is the row of each gap's first piece, and `place` the number of the gap of each
    row, in their order from 0; `lengths` are those of the pieces, ns.
    """

    starts: Times
    ends: Times
    first_rows: NDArray[np.intp]
    place: NDArray[np.intp]
    lengths: Times

    def time_in(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Times]:
        """Return the numbers of the gaps with some of the chosen pieces, and the time of these."""
        rows = np.flatnonzero(chosen)
        groups = EqualRuns.from_keys(self.place[rows])
        return groups.keys.astype(np.intp), groups.reduce(np.add, self.lengths[rows])

    def rows_of(self, number: int) -> slice:
        """Return the rows of a gap's pieces."""
        first_row = int(self.first_rows[number])
        if number + 1 == self.first_rows.size:
            return slice(first_row, None)
        return slice(first_row, int(self.first_rows[number + 1]))


class GapsTable(pd.DataFrame):
    """The table `gaps`, which never changes: its gaps are put together once."""

    @cached_property
    def merged_gaps(self) -> WholeGaps:
        """Each gap as one."""
        return _merge_pieces(self)


def whole_gaps(gaps: pd.DataFrame) -> WholeGaps:
    """Return each gap of the table as one."""
    if isinstance(gaps, GapsTable):
        return gaps.merged_gaps
    return _merge_pieces(gaps)


def _merge_pieces(gaps: pd.DataFrame) -> WholeGaps:
    starts = gaps["start"].to_numpy(dtype=np.int64)
    lengths = gaps["duration"].to_numpy(dtype=np.int64)
    first_rows = heads_of(gaps["gap"].to_numpy(dtype=np.int64))
    last_rows = np.append(first_rows[1:], starts.size)[: first_rows.size] - 1
    ends = starts[last_rows] + lengths[last_rows]
    piece_counts = np.diff(np.append(first_rows, starts.size))
    place = np.repeat(np.arange(first_rows.size), piece_counts)
    return WholeGaps(starts[first_rows], ends, first_rows, place, lengths)


def longest_gaps(gaps: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the longest gaps, longest first, at most twenty, each with its causes in words."""
    merged_gaps = whole_gaps(gaps)
    causes = gaps["cause"].astype("category").array
    evidence: list[Evidence] = []
    for number in longest_first(merged_gaps.ends - merged_gaps.starts):
        rows = merged_gaps.rows_of(number)
        shares = dict.fromkeys(Cause, 0)
        for cause, length in zip(causes[rows], merged_gaps.lengths[rows].tolist(), strict=True):
            shares[Cause(cause)] += length
        start = int(merged_gaps.starts[number])
        length = sum(shares.values())
        words = _words(shares, length)
        evidence.append(Evidence("gpu_intervals", start, start + length, words))
    return tuple(evidence)


def _words(shares: dict[Cause, int], length: int) -> str:
    """Name the cause of a gap, and the second one if it matters, with their shares."""
    ranked = sorted(shares, key=lambda cause: -shares[cause])
    first_cause, second = ranked[:2]
    if shares[second] < _NAMED * length:
        return CAUSES[first_cause]
    first_share = units.percent(shares[first_cause] / length)
    second_share = units.percent(shares[second] / length)
    return f"{CAUSES[first_cause]} {first_share}, {CAUSES[second]} {second_share}"
