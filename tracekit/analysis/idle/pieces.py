"""Every gap of a device, cut into pieces with one party and one cause each; see `cause.py`."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.idle.awaited import Awaited
from tracekit.analysis.idle.cause import DOING, Cause, Codes, Party
from tracekit.analysis.idle.causes import FEWEST, find_causes
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.parties import find_parties, judge_waits
from tracekit.analysis.idle.scene import GapPieces, GapScene
from tracekit.analysis.idle.slopes import Wait
from tracekit.analysis.idle.surroundings import Sights, Surroundings
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, distinct


def attribute_gaps(
    gaps: IntervalSet,
    lives: Lives,
    awaited: Awaited,
    around: Surroundings,
    target: Lives,
    habit: float = FEWEST,
) -> pd.DataFrame:
    """Return the pieces of a device's gaps, each with party, cause and the host's activity.

    `lives` are the command buffers on this device, `awaited` those that the commit of each waited
    for, `target` those on all devices. `habit` is the number of boundaries between command buffers
    from which they are a habit of the loop. Columns: those of the table `gaps` but for `device`.
    """
    pieces = _cut_gaps(gaps, chain(lives.bounds, around.bounds, awaited.bounds))
    sights = around.look_at(pieces.start)
    scene = GapScene(gaps, pieces, lives, awaited, around, sights, target)
    parties = find_parties(scene)
    causes = find_causes(scene, parties, habit)
    waits = judge_waits(gaps, scene.buffers_after_gaps, awaited)
    activities, activity_names = _find_activities(pieces.start, around, sights)
    columns = {
        "party": (parties, list(map(str, Party))),
        "cause": (causes, list(map(str, Cause))),
        "waited": (waits[pieces.gap], [wait.name.lower() for wait in Wait]),
        "during": (activities, activity_names),
    }
    return _join_pieces(pieces, columns)


def _cut_gaps(gaps: IntervalSet, bounds: Iterable[Times]) -> GapPieces:
    """Cut the gaps at those of the moments, given in parts, that lie inside one of them."""
    moments = distinct(np.concatenate(list(bounds)))
    moments_in_gaps = moments[gaps.contains(moments)]
    starts = distinct(np.concatenate((gaps.starts, moments_in_gaps)))
    gap = np.searchsorted(gaps.starts, starts, side="right") - 1
    next_starts = np.append(starts[1:], FOREVER)[: starts.size]
    ends = np.minimum(next_starts, gaps.ends[gap])
    return GapPieces(starts, ends, gap)


def _find_activities(
    moments: Times, around: Surroundings, sights: Sights
) -> tuple[Codes, list[str]]:
    """Return the host's activity at each moment, and the names of all activities.

    An activity is the place of its name. A span of the workload names it, the innermost one, except
    while the compiler works; without one, it is the first of `DOING`; without any, it is "".
    """
    # A span may be called as one of the others.
    names = list(dict.fromkeys(["", *DOING, *around.annotated]))
    flags = [sights.compiler, sights.encoding, sights.wiring, sights.driver]
    codes = [np.int16(names.index(name)) for name in DOING]
    activities = np.select(flags, codes, np.int16(0))
    innermost_starts = np.full(moments.size, NEVER)
    for name, intervals in around.annotated.items():
        span_starts = intervals.interval_start(moments)
        is_inner = (span_starts > innermost_starts) & ~sights.compiler
        activities = np.where(is_inner, np.int16(names.index(name)), activities)
        innermost_starts = np.maximum(innermost_starts, span_starts)
    return activities, names


def _join_pieces(pieces: GapPieces, columns: dict[str, tuple[Codes, list[str]]]) -> pd.DataFrame:
    """Return the pieces as a table; neighbours in a gap with the same values become one.

    `columns` are codes for each piece, with the names that they are places of.
    """
    is_first = np.ones(pieces.start.size, dtype=bool)
    is_first[1:] = pieces.gap[1:] != pieces.gap[:-1]
    for codes, _ in columns.values():
        is_first[1:] |= codes[1:] != codes[:-1]
    is_last = np.ones(pieces.start.size, dtype=bool)
    is_last[:-1] = is_first[1:]
    starts = pieces.start[is_first]
    durations = pieces.end[is_last] - starts
    cells: dict[str, Any] = {"start": starts, "duration": durations, "gap": pieces.gap[is_first]}
    for name, (codes, names) in columns.items():
        cells[name] = pd.Categorical.from_codes(codes[is_first], pd.Index(names))
    return pd.DataFrame(cells, copy=False)  # they are millions, and nobody else has them
