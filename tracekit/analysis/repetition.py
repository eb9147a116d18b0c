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
            usual_work = float(np.median(rows[-1])) if rows else np.inf
            if abs(work - usual_work) <= _ALIKE * max(work, usual_work) < np.inf:
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
    quiet = np.searchsorted(pauses[1], starts[1:], side="right")
    quiet = quiet > np.searchsorted(pauses[1], starts[:-1], side="right")
    ends[:-1] = np.where(quiet, np.minimum(ends[:-1], reported[:-1]), ends[:-1])
    table = add_work(make_iterations(starts, ends, "structure"), timeline)
    table = table.assign(request=number_requests(quiet), share=repeats.share)
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
    work = table["work"].fillna(0).to_numpy(dtype=np.int64)
    request = table["request"].to_numpy(dtype=np.int64)
    openings = find_openings(work, request)
    table = table.assign(phase=pd.array(np.where(openings, OPENING, STEADY), dtype="string"))
    first_start = int(table["start"].iloc[0])
    begins = begins_of(timeline)
    request_start = int(pauses[1][pauses[1] <= first_start].max(initial=0))
    early = (begins < first_start) & (begins >= request_start)
    earlier_work = int(timeline.loc[early, "busy"].sum())
    if not opens_alike(earlier_work, work, request, openings):
        return table
    start = int(begins[early].min())
    row = add_work(
        make_iterations(np.array([start]), np.array([first_start]), "structure"), timeline
    )
    phase = pd.array([OPENING], dtype="string")
    row = row.assign(phase=phase, share=table["share"].iloc[0])
    return pd.concat([row, table], ignore_index=True)


def _in_rounds(table: pd.DataFrame) -> Structure:
    """Return the iterations, with those of several recurring groups merged."""
    steady = table[table["phase"] == STEADY]
    row = find_length(steady)
    if row is None:
        return Structure(table)
    members = steady.iloc[row.begin : row.begin + row.times * row.length]
    work = members["work"].to_numpy(dtype=np.int64).reshape(-1, row.length)
    profile = tuple(np.rint(np.median(work, axis=0)).astype(np.int64).tolist())
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
    work_ends, work, pieces, request = (
        steady[name].to_numpy(dtype=np.int64) for name in ("ended", "work", "pieces", "request")
    )
    pauses = np.maximum(starts - np.concatenate((starts[:1], work_ends[:-1])), 0)
    by_work = find_round(GroupRow(pieces, work, pauses, request))
    busy_always = work.sum() >= _NEVER_IDLE * (ends - starts).sum()
    if by_work is not None or not busy_always:
        return by_work
    times = ends - starts
    return find_round(GroupRow(pieces, times, np.roll(times, 1), request))


def _merge_rounds(table: pd.DataFrame, members: pd.DataFrame, length: int) -> pd.DataFrame:
    """Return the iterations, with each round of the members merged, and the openings."""
    rounds = members.groupby(np.arange(len(members)) // length)
    first_rows, last_rows = rounds.first(), rounds.last()
    sums = rounds[["work", "pieces"]].sum()
    starts = first_rows["start"].to_numpy(dtype=np.int64)
    ends = (last_rows["start"] + last_rows["duration"]).to_numpy(dtype=np.int64)
    merged_rounds = first_rows.assign(
        duration=pd.array(ends - starts, dtype="Int64"),
        work=sums["work"],
        pieces=sums["pieces"],
        ended=last_rows["ended"],
        groups=length,
    )
    in_span = table["start"].between(starts[0], ends[-1])
    openings = table[(table["phase"] != STEADY) & in_span]
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
    place = np.searchsorted(starts[order], begins, side="right") - 1
    in_iteration = (place >= 0) & (begins < ends[order][np.maximum(place, 0)])
    groups = EqualRuns.from_keys(order[place[in_iteration]])
    unknown = np.ones(len(table), np.bool_)
    unknown[groups.keys] = False
    new_columns: dict[str, pd.arrays.IntegerArray] = {}
    for name, column, way in (
        ("work", "busy", np.add),
        ("pieces", "intervals", np.add),
        ("ended", "ended", np.maximum),
    ):
        values = np.zeros(len(table), np.int64)
        values[groups.keys] = groups.reduce(way, timeline[column].to_numpy(np.int64)[in_iteration])
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
    until = np.where(behind < order.size, order[np.minimum(behind, order.size - 1)], ends)
    work = IntervalSet.from_spans(*gpu.spans).measure_within(starts, until)
    piece_starts = np.sort(gpu.spans[0])
    pieces = np.searchsorted(piece_starts, until) - np.searchsorted(piece_starts, starts)
    new_columns = {"work": work, "pieces": pieces}
    typed = {name: pd.array(values, dtype="Int64") for name, values in new_columns.items()}
    return table.assign(**typed, ended=empty_column)


def make_iterations(starts: Times, ends: Times, source: str) -> pd.DataFrame:
    """Return a table `iterations` of uniform iterations, of one request."""
    return pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array(ends - starts, dtype="Int64"),
            "phase": _make_column(STEADY, starts.size, "string"),
            "variant": _make_column(None, starts.size, "string"),
            "tokens": _make_column(None, starts.size, "Int64"),
            "source": _make_column(source, starts.size, "string"),
            "request": np.zeros(starts.size, np.int64),
            "groups": np.ones(starts.size, np.int64),
            "share": np.ones(starts.size),
        }
    )


def _make_column(value: str | None, number: int, dtype: str) -> pd.api.extensions.ExtensionArray:
    """Return a column of one value; converting a list of a hundred thousand takes longer."""
    return pd.Series(value, index=range(number), dtype=dtype).array
