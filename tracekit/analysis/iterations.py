"""The tables `iterations` and `loop`: what repeats in a program, and the time that is judged.

Iterations come from the first of these that has them: the steps of a workload of tracekit; the
target's own signposts of one name, of any subsystem; the structure of its command buffers.

Structure: where the host waited for all work, or paused for far longer than between other command
buffers, groups of command buffers are split. Iterations are groups alike, or the shortest row of
unlike groups that repeats; where nothing splits, the shortest row of unlike command buffers. Groups
are alike by the number of their intervals and by the device time and the pause behind them. What
differs from the rest, such as the load of a model before its loop, is no iteration.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import NEVER, Times, marked_window, spans
from tracekit.analysis.scope import steady_steps, window_of_target
from tracekit.tables import PHASES

FEWEST = 8
"""Fewer repetitions than this are no loop."""
_ALIKE = 0.7  # of the groups from the first iteration to the last
_OF_WORK = 0.5  # of all device time, which iterations have to hold
_WITHIN = 0.25  # by which device times of like groups may differ, as a share
_APART = 3.0  # a pause that splits is this many times as long as one that does not
_BRIEF = 10_000  # ns: shorter pauses are as good as none
_LONGEST = 256  # groups of one iteration
_NONE = (
    "no repeating structure was found: the workload marks no steps, no signpost of the target "
    "repeats, and its command buffers do not come in groups alike."
)

Flags = NDArray[np.bool_]


def iterations_table(
    steps: pd.DataFrame | None,
    signpost_intervals: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `iterations`: one row for each repetition of the loop that is judged.

    Columns: `start`, `duration` (ns), `source` (steps, signposts, structure), and those of steps:
    `phase`, which is steady, and `variant` and `tokens`, null where only a workload could tell.
    It has no rows where nothing repeats often enough.

    Raises:
        Unavailable: The workload made no steady step, or its command buffers are not known.
    """
    if steps is not None and not steps.empty:
        return steady_steps(steps).assign(source="steps")
    if timeline is None:
        raise Unavailable("the workload marks no steps, and its command buffers are not known.")
    if signpost_intervals is not None:
        found = _signposts(signpost_intervals, timeline)
        if found is not None:
            return _table(*found, "signposts")
    found = _structure(timeline)
    none = np.empty(0, np.int64)
    return _table(*found, "structure") if found else _table(none, none, "structure")


def steady_iterations(iterations: pd.DataFrame | None) -> pd.DataFrame:
    """Return the iterations; raise Unavailable where there are none."""
    if iterations is None or iterations.empty:
        raise Unavailable(_NONE)
    return steady_steps(iterations)


def _table(starts: Times, ends: Times, source: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array(ends - starts, dtype="Int64"),
            "phase": pd.array(["steady"] * starts.size, dtype="string"),
            "variant": pd.array([None] * starts.size, dtype="string"),
            "tokens": pd.array([None] * starts.size, dtype="Int64"),
            "source": pd.array([source] * starts.size, dtype="string"),
        }
    )


def loop_table(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `loop`: the one stretch of the recording that is judged.

    Columns: `name` ("steady"), `start`, `duration` (ns), and `words`, which name it in a sentence.
    It is the workload's own steady phase; without marks, from the first iteration to the last;
    without iterations, from the target's first interval to its last.

    Raises:
        Unavailable: The workload marked phases and none of them is steady, the target is not
            known or has no rows, nothing tells of its command buffers, or the stretch has no
            length.
    """
    if phases is not None and not phases.empty and marked_window(phases) is None:
        raise Unavailable("the workload did not come to its steady phase.")
    window = window_of_target(gpu_intervals, targets, phases)
    start, end, words = window.start, window.end, window.name
    if marked_window(phases) is None and iterations is None:
        raise Unavailable("which part is the loop is not known, as its command buffers are not.")
    if marked_window(phases) is None and iterations is not None and not iterations.empty:
        starts, ends = spans(iterations)
        start, end = int(starts.min()), int(ends.max())
        words = f"the loop of {len(starts):,} iterations"
    return pd.DataFrame(
        {"name": ["steady"], "start": [start], "duration": [end - start], "words": [words]}
    )


def _signposts(signposts: pd.DataFrame, timeline: pd.DataFrame) -> tuple[Times, Times] | None:
    """Return the intervals of the name that holds most device work, or lasts longest."""
    own = signposts[signposts["target"] & signposts["duration"].notna()]
    own = own[(own["subsystem"] != PHASES[0]).fillna(value=True)]
    best, most = None, 0
    for _, rows in own.groupby(["subsystem", "category", "name"], dropna=False):
        starts, ends = spans(rows.sort_values("start", kind="stable"))
        if starts.size < FEWEST or (starts[1:] < ends[:-1]).any():
            continue
        # Work that is queued ahead runs after its iteration: what is judged is the whole row.
        whole = (timeline["started"] >= starts[0]) & (timeline["started"] <= ends[-1])
        held = int(timeline["busy"][whole].sum())
        if held >= _OF_WORK * int(timeline["busy"].sum()) and held > most:
            best, most = (starts, ends), held
    return best


@dataclass(frozen=True, eq=False)
class _Groups:
    """Command buffers in groups; `pauses` (ns) are the host's behind each, -1 for the last."""

    first: NDArray[np.intp]
    pieces: Times
    busy: Times
    pauses: Times
    split: bool

    @property
    def number(self) -> int:
        return self.first.size

    def alike(self, apart: int) -> Flags:
        """Tell for each group whether the one so many behind it is alike."""
        ways = (self.pieces, self.busy, np.maximum(self.pauses, 0) + _BRIEF)
        pieces, busy, pauses = ((each[:-apart], each[apart:]) for each in ways)
        same = pieces[0] == pieces[1]
        same &= np.abs(busy[0] - busy[1]) <= _WITHIN * np.maximum(*busy)
        if self.split:
            same &= (np.maximum(*pauses) <= _APART * np.minimum(*pauses)) | (
                self.pauses[apart:] < 0
            )
        return same


def _structure(timeline: pd.DataFrame) -> tuple[Times, Times] | None:
    """Return starts and ends of groups of command buffers that repeat; None where none do."""
    if len(timeline) < FEWEST:
        return None
    begun, committed, completed = (
        timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)
        for name in ("begun", "committed", "completed")
    )
    started, ended, busy, pieces = (
        timeline[name].to_numpy(dtype=np.int64)
        for name in ("started", "ended", "busy", "intervals")
    )
    begun = np.where(begun == NEVER, np.where(committed == NEVER, started, committed), begun)
    pauses = np.maximum(begun[1:] - np.where(committed == NEVER, ended, committed)[:-1], 0)
    reported = np.maximum.accumulate(np.maximum(ended, completed))
    for splits in _splits(pauses, begun[1:] >= reported[:-1]):
        first = np.concatenate(([0], np.flatnonzero(splits) + 1))
        last = np.append(first[1:], len(timeline)) - 1
        groups = _Groups(
            first,
            np.add.reduceat(pieces, first),
            np.add.reduceat(busy, first),
            np.append(pauses, -1)[last],
            bool(splits.any()),
        )
        at, length = _repeating(groups)
        held = (at[:, np.newaxis] + np.arange(length)).ravel()
        if at.size < FEWEST or groups.busy[held].sum() < _OF_WORK * busy.sum():
            continue
        starts, ends = begun[first[at]], reported[last[at + length - 1]]
        follows = at[1:] == at[:-1] + length
        ends[:-1] = np.where(follows, starts[1:], ends[:-1])
        return starts, np.maximum(ends, starts + 1)
    return None


def _splits(pauses: Times, drained: Flags) -> Iterator[Flags]:
    """Yield the ways to split command buffers: by waits, by long pauses, not at all."""
    if drained.sum() >= FEWEST:
        yield drained
    ordered = np.sort(pauses + _BRIEF)
    if ordered.size > 1:
        ratios = ordered[1:] / ordered[:-1]
        at = int(np.argmax(ratios))
        long = pauses + _BRIEF > ordered[at]
        if ratios[at] >= _APART and long.sum() >= FEWEST:
            yield long
    yield np.zeros(pauses.size, bool)


def _repeating(groups: _Groups) -> tuple[NDArray[np.intp], int]:
    """Return the first group of each iteration, and how many groups an iteration has."""
    none = np.empty(0, np.intp), 1
    for length in range(1, min(_LONGEST, groups.number // FEWEST) + 1):
        alike = groups.alike(length)
        begin, end = _mostly(alike)
        if end - begin + length < FEWEST * length:
            continue
        if length == 1:
            # Where nothing splits and all are alike, nothing tells where an iteration begins.
            return (np.arange(begin, end + 1), 1) if groups.split else none
        return _in_rows(groups, alike, begin, end, length), length
    if not groups.split or groups.number < FEWEST:
        return none
    usual = np.bincount(groups.pieces).argmax()
    begin, end = _mostly(groups.pieces == usual)
    return np.arange(begin, end), 1


def _mostly(flags: Flags) -> tuple[int, int]:
    """Return the stretch in which most are true, as the one of the greatest sum of scores.

    A true one scores 1, a false one so much less that a stretch of equal sum has `_ALIKE` of them.
    """
    scores = np.where(flags, 1.0, -_ALIKE / (1 - _ALIKE))
    sums = np.concatenate(([0.0], np.cumsum(scores)))
    least = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - least))
    return int(np.argmin(sums[: end + 1])), end


def _in_rows(groups: _Groups, alike: Flags, begin: int, end: int, length: int) -> NDArray[np.intp]:
    """Return where rows of so many groups begin, the longest pause before each."""
    pauses = np.concatenate(([0], groups.pauses))[begin : begin + (end - begin) // length * length]
    typical = np.median(pauses.reshape(-1, length), axis=0)
    at, found = begin + int(np.argmax(typical)), list[int]()
    while at + length <= end + length:
        row = alike[max(0, at - length) : at] if found else alike[at : at + length]
        if row.mean() >= _ALIKE:
            found.append(at)
            at += length
        else:
            at += 1
    return np.array(found, np.intp)
