"""Iterations from repetition: in requests, with openings, and with rows of unlike groups as one."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import EqualRuns, IntervalSet, Times, spans
from tracekit.analysis.openings import (
    OPENING,
    STEADY,
    find_openings,
    number_requests,
    opens_alike,
)
from tracekit.analysis.pace import find_frames
from tracekit.analysis.rounds import FEWEST, LEAST, GroupRow, Round, find_round
from tracekit.analysis.scope import Device
from tracekit.analysis.structure import Repeats, begins_of, repeating, reported_ends

_NEVER_IDLE = 0.97  # share of a loop for which a device works that is never idle
_MANY_STEPS, _STEP = 32, 2_000_000  # groups in a row that are alike, and their device time in ns
_SEVERAL = 1.5  # frames an iteration from which iterations are not frames
_ALIKE = 0.25  # largest difference of device times of adjacent groups of one kind


@dataclass(frozen=True, eq=False)
class Structure:
    """The repetition: the table `iterations`, and the composition of each iteration.

    `profile` is the usual device time (ns) of each of the groups of command buffers that recur in
    the same order, `times` times; it is empty if all are alike or none recur. The groups are one
    iteration if they recur often enough.
    """

    iterations: pd.DataFrame
    profile: tuple[int, ...] = ()
    times: int = 0

    @property
    def steps(self) -> int:
        """The number of groups that are steps by themselves, such as the tokens of a request; or 1.

        Layers of a model recur in the same way, but are shorter or fewer.
        """
        if not self.profile or int(self.iterations["groups"].max()) != len(self.profile):
            return 1
        number, work = max(self.kinds)
        if number < _MANY_STEPS or work < _STEP:
            return 1
        return len(self.profile)

    @property
    def kinds(self) -> tuple[tuple[int, int], ...]:
        """The groups of a round in order, with similar neighbours merged: number and time (ns)."""
        rows: list[list[int]] = []
        for work in self.profile:
            usual_work = np.inf
            if rows:
                usual_work = float(np.median(rows[-1]))
            limit = _ALIKE * max(work, usual_work)
            if abs(work - usual_work) <= limit < np.inf:
                rows[-1].append(work)
            else:
                rows.append([work])
        return tuple((len(works), round(float(np.median(works)))) for works in rows)


def find_structure(
    timeline: pd.DataFrame, pauses: tuple[Times, Times], commits: pd.DataFrame | None = None
) -> Structure:
    """Return the repetition in a row of command buffers, with pauses in which none was due.

    Frames that the `commits` present are iterations, even if rows of unlike frames recur.
    """
    repeats = repeating(timeline)
    if repeats is None or repeats.groups > 1:
        repeats = _divide_into_frames(repeats, timeline, commits)
    if repeats is None:
        no_times = np.empty(0, np.int64)
        return Structure(add_work(make_iterations(no_times, no_times, "structure"), timeline))
    starts = repeats.starts
    ends = repeats.ends.copy()
    reported = reported_ends(timeline, starts, ends)
    later_pauses = np.searchsorted(pauses[1], starts[1:], side="right")
    quiet = later_pauses
    earlier_pauses = np.searchsorted(pauses[1], starts[:-1], side="right")
    quiet = quiet > earlier_pauses
    ends[:-1] = np.where(quiet, np.minimum(ends[:-1], reported[:-1]), ends[:-1])
    table = add_work(make_iterations(starts, ends, "structure"), timeline)
    requests = number_requests(quiet)
    table = table.assign(request=requests, share=repeats.share)
    table = table.assign(groups=repeats.groups)
    if repeats.groups > 1:
        return Structure(table, repeats.profile, len(repeats))
    return _in_rounds(_mark_openings(table, timeline, pauses))


def _divide_into_frames(
    repeats: Repeats | None, timeline: pd.DataFrame, commits: pd.DataFrame | None
) -> Repeats | None:
    """Return the frames of a repetition if most of its iterations have several; else the same.

    Without a repetition, a program that presents often enough has frames as well.
    """
    if timeline.empty:
        return repeats
    begins = begins_of(timeline)
    start, end, fewest = int(begins.min()), int(timeline["ended"].max()) + 1, float(FEWEST)
    if repeats is not None:
        start, end = int(repeats.starts[0]), int(repeats.ends[-1])
        fewest = _SEVERAL * len(repeats)
    frames = find_frames(timeline, commits, start, end)
    if frames.size < fewest:
        return repeats
    return Repeats(frames, np.append(frames[1:], end), 1, 1.0, ())


def _mark_openings(
    table: pd.DataFrame, timeline: pd.DataFrame, pauses: tuple[Times, Times]
) -> pd.DataFrame:
    """Return the iterations, with the openings of requests marked, including the first one's."""
    known_work = table["work"].fillna(0)
    work = known_work.to_numpy(dtype=np.int64)
    request = table["request"].to_numpy(dtype=np.int64)
    openings = find_openings(work, request)
    phases = pd.array(np.where(openings, OPENING, STEADY), dtype="string")
    table = table.assign(phase=phases)
    first_start = int(table["start"].iloc[0])
    begins = begins_of(timeline)
    earlier_pauses = pauses[1][pauses[1] <= first_start]
    request_start = int(earlier_pauses.max(initial=0))
    early = (begins < first_start) & (begins >= request_start)
    early_work = timeline.loc[early, "busy"]
    earlier_work = int(early_work.sum())
    if not opens_alike(earlier_work, work, request, openings):
        return table
    start = int(begins[early].min())
    begin_times = np.array([start])
    end_times = np.array([first_start])
    iteration = make_iterations(begin_times, end_times, "structure")
    row = add_work(iteration, timeline)
    phase = pd.array([OPENING], dtype="string")
    share = table["share"].iloc[0]
    row = row.assign(phase=phase, share=share)
    return pd.concat([row, table], ignore_index=True)


def _in_rounds(table: pd.DataFrame) -> Structure:
    """Return the iterations, with those of several recurring groups merged."""
    steady = table[table["phase"] == STEADY]
    row = find_length(steady)
    if row is None:
        return Structure(table)
    end = row.begin + row.times * row.length
    members = steady.iloc[row.begin : end]
    all_work = members["work"].to_numpy(dtype=np.int64)
    work = all_work.reshape(-1, row.length)
    median_work = np.median(work, axis=0)
    profile = tuple(np.rint(median_work).astype(np.int64).tolist())
    alone = Structure(table, profile, row.times)
    if row.times < FEWEST:
        return alone
    return replace(alone, iterations=_merge_rounds(table, members, row.length))


def find_length(steady: pd.DataFrame) -> Round | None:
    """Return the row of iterations that recurs; None if all are alike or none recurs.

    They are compared by their device work. If the device is never idle and its work is all alike,
    they are compared by the host's time, which then is that of a host that runs ahead.
    """
    if len(steady) < 2 * LEAST or steady["work"].isna().any():
        return None
    starts, ends = spans(steady)
    work_ends = steady["ended"].to_numpy(dtype=np.int64)
    work = steady["work"].to_numpy(dtype=np.int64)
    pieces = steady["pieces"].to_numpy(dtype=np.int64)
    request = steady["request"].to_numpy(dtype=np.int64)
    earlier_ends = np.concatenate((starts[:1], work_ends[:-1]))
    pauses = np.maximum(starts - earlier_ends, 0)
    by_work = find_round(GroupRow(pieces, work, pauses, request))
    whole_time = (ends - starts).sum()
    busy_always = work.sum() >= _NEVER_IDLE * whole_time
    if by_work is not None or not busy_always:
        return by_work
    times = ends - starts
    group_row = GroupRow(pieces, times, np.roll(times, 1), request)
    return find_round(group_row)


def _merge_rounds(table: pd.DataFrame, members: pd.DataFrame, length: int) -> pd.DataFrame:
    """Return the iterations, with each round of the members merged, and the openings."""
    round_numbers = np.arange(len(members)) // length
    rounds = members.groupby(round_numbers)
    first_rows = rounds.first()
    last_rows = rounds.last()
    sums = rounds[["work", "pieces"]].sum()
    starts = first_rows["start"].to_numpy(dtype=np.int64)
    last_ends = last_rows["start"] + last_rows["duration"]
    ends = last_ends.to_numpy(dtype=np.int64)
    durations = pd.array(ends - starts, dtype="Int64")
    merged_rounds = first_rows.assign(
        duration=durations,
        work=sums["work"],
        pieces=sums["pieces"],
        ended=last_rows["ended"],
        groups=length,
    )
    in_span = table["start"].between(starts[0], ends[-1])
    is_opening = table["phase"] != STEADY
    openings = table[is_opening & in_span]
    return pd.concat([merged_rounds, openings]).sort_values(
        "start", kind="stable", ignore_index=True
    )


def add_work(table: pd.DataFrame, timeline: pd.DataFrame | None) -> pd.DataFrame:
    """Add the device work of the command buffers that began in each iteration."""
    empty_column = _make_column(None, len(table), "Int64")
    if timeline is None or table.empty:
        return table.assign(work=empty_column, pieces=empty_column, ended=empty_column)
    starts, ends = spans(table)
    order = np.argsort(starts, kind="stable")
    begins = begins_of(timeline)
    next_places = np.searchsorted(starts[order], begins, side="right")
    place = next_places - 1
    iteration_ends = ends[order][np.maximum(place, 0)]
    in_iteration = (place >= 0) & (begins < iteration_ends)
    groups = EqualRuns.from_keys(order[place[in_iteration]])
    unknown = np.ones(len(table), np.bool_)
    unknown[groups.keys] = False
    new_columns: dict[str, pd.arrays.IntegerArray] = {}
    sources = (
        ("work", "busy", np.add),
        ("pieces", "intervals", np.add),
        ("ended", "ended", np.maximum),
    )
    for name, column, way in sources:
        values = np.zeros(len(table), np.int64)
        column_values = timeline[column].to_numpy(np.int64)[in_iteration]
        values[groups.keys] = groups.reduce(way, column_values)
        new_columns[name] = pd.arrays.IntegerArray(values, unknown)
    return table.assign(**new_columns)


def add_time(table: pd.DataFrame, gpu: Device | None) -> pd.DataFrame:
    """Add the device's time for the target in each marked step, until the next one; ns.

    A program's marks may deviate slightly from the trace's times, so the work during a step is more
    reliable than the work that the step encoded. The end of a step's work is unknown.
    """
    empty_column = _make_column(None, len(table), "Int64")
    if gpu is None or table.empty:
        return table.assign(work=empty_column, pieces=empty_column, ended=empty_column)
    starts, ends = spans(table)
    order = np.sort(starts)
    behind = np.searchsorted(order, starts, side="right")
    next_orders = order[np.minimum(behind, order.size - 1)]
    until = np.where(behind < order.size, next_orders, ends)
    gpu_work = IntervalSet.from_spans(*gpu.spans)
    work = gpu_work.measure_within(starts, until)
    piece_starts = np.sort(gpu.spans[0])
    pieces_before_end = np.searchsorted(piece_starts, until)
    pieces_before_start = np.searchsorted(piece_starts, starts)
    pieces = pieces_before_end - pieces_before_start
    new_columns = {"work": work, "pieces": pieces}
    typed = {name: pd.array(values, dtype="Int64") for name, values in new_columns.items()}
    return table.assign(**typed, ended=empty_column)


def make_iterations(starts: Times, ends: Times, source: str) -> pd.DataFrame:
    """Return a table `iterations` of uniform iterations, of one request."""
    number = starts.size
    durations = pd.array(ends - starts, dtype="Int64")
    return pd.DataFrame(
        {
            "start": starts,
            "duration": durations,
            "phase": _make_column(STEADY, number, "string"),
            "variant": _make_column(None, number, "string"),
            "tokens": _make_column(None, number, "Int64"),
            "source": _make_column(source, number, "string"),
            "request": np.zeros(number, np.int64),
            "groups": np.ones(number, np.int64),
            "share": np.ones(number),
        }
    )


def _make_column(value: str | None, number: int, dtype: str) -> pd.api.extensions.ExtensionArray:
    """Return a column of one value; converting a list of a hundred thousand takes longer."""
    column = pd.Series(value, index=range(number), dtype=dtype)
    return column.array
