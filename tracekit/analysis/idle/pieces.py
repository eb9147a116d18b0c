"""Every gap of a device, cut into pieces with one party and one cause each.

The *party* is who held the device up. A moment belongs to the first of these that holds:

- *within-buffer*: the device had begun a command buffer and not ended it. The pause lies between
  two encoders.
- *way-there*: a command buffer was committed and not started.
- *way-back*: the thread that commits next waited for the report of a command buffer, which had
  ended and was not yet reported complete. Where the thread is known not to have waited for it, the
  time is the host's; where that is not known, so it is while the host encodes.
- *other-device*: the command buffer whose report that thread waited for was on another device.
  Before it began there, the time is on the way there; before it was committed, it belongs to what
  that commit waited for. What another thread gives to another device holds nothing up.
- *compile*: a pipeline was compiled.
- *host*: everything that had been committed was reported complete. It is the host's turn.
- *unknown*: the recording tells neither when the next work was committed, nor when the last was
  reported.

The *cause* says more, where more was recorded:

- On the way there: memory was wired, the driver prepared that command buffer, another process ran
  on the target's channel, or the device was powered up. The rest is the *start* of work on a device
  that had run dry, or a *boundary between command buffers*, where the next one had been committed
  for longer than a start takes. It is a *late start* where it is longer than `LATE` in its gap and
  stands out of the others.
- In the host's time: it wired memory, the driver worked, or the host encoded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.awaited import Awaited
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.slopes import Wait
from tracekit.analysis.idle.work import Flags, Sights, Surroundings
from tracekit.analysis.intervals import FOREVER, NEVER, EqualRuns, IntervalSet, Times, distinct

LATE = 100_000
"""Queued work that waits longer than this on a device that nobody uses starts late; ns."""
FEWEST = 8
"""Fewer boundaries than this are no habit of a loop."""
_USUAL = 0.4  # the quantile of boundaries that counts as their usual length
_LONGEST = 300_000  # ns: no boundary was ever reported to be that long
_STANDS_OUT = 3.0  # times that length


class Party(StrEnum):
    """Who held the device up; see the module. `WORKS` and `PAUSE` are no idle time."""

    WORKS = "works"
    WITHIN_BUFFER = "within-buffer"
    WAY_THERE = "way-there"
    WAY_BACK = "way-back"
    OTHER_DEVICE = "other-device"
    COMPILE = "compile"
    PAUSE = "pause"
    HOST = "host"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why the device had nothing of the target to do for a while."""

    BETWEEN_ENCODERS = "between-encoders"
    BETWEEN_BUFFERS = "between-buffers"
    START = "start-latency"
    LATE_START = "late-start"
    DRIVER = "driver"
    WIRING = "wiring"
    OTHER_PROCESS = "other-process"
    POWERING_UP = "powering-up"
    REPORT = "way-back"
    OTHER_DEVICE = "other-device"
    COMPILE = "compile"
    ENCODING = "encoding"
    HOST = "host"
    UNATTRIBUTED = "unattributed"


PARTIES: dict[Party, str] = {
    Party.WORKS: "device at work",
    Party.WITHIN_BUFFER: "within a command buffer",
    Party.WAY_THERE: "on the way to the device",
    Party.WAY_BACK: "on the way back to the host",
    Party.OTHER_DEVICE: "while another device worked",
    Party.COMPILE: "during a compilation",
    Party.PAUSE: "in a pause",
    Party.HOST: "in the host's time",
    Party.UNKNOWN: "where nothing tells when work was committed or reported",
}
"""Each party as a sentence names it, behind "idle"."""

CAUSES: dict[Cause, str] = {
    Cause.BETWEEN_ENCODERS: "between encoders",
    Cause.BETWEEN_BUFFERS: "between command buffers",
    Cause.START: "start latency",
    Cause.LATE_START: "late start",
    Cause.DRIVER: "driver",
    Cause.WIRING: "wiring memory",
    Cause.OTHER_PROCESS: "other process",
    Cause.POWERING_UP: "powering up",
    Cause.REPORT: "way back",
    Cause.OTHER_DEVICE: "other device",
    Cause.COMPILE: "compile",
    Cause.ENCODING: "host encoding",
    Cause.HOST: "host",
    Cause.UNATTRIBUTED: "unattributed",
}
"""Each cause as a sentence names it, in the order in which they are listed."""

_REST: dict[Party, Cause] = {
    Party.WORKS: Cause.UNATTRIBUTED,
    Party.WITHIN_BUFFER: Cause.BETWEEN_ENCODERS,
    Party.WAY_THERE: Cause.BETWEEN_BUFFERS,
    Party.WAY_BACK: Cause.REPORT,
    Party.OTHER_DEVICE: Cause.OTHER_DEVICE,
    Party.COMPILE: Cause.COMPILE,
    Party.PAUSE: Cause.UNATTRIBUTED,
    Party.HOST: Cause.HOST,
    Party.UNKNOWN: Cause.UNATTRIBUTED,
}
"""The cause of the time that nothing explains further, by its party."""

Codes = NDArray[np.int16]

DOING = ("compiler", "encoding", "wiring memory", "driver")
"""What the host is seen doing in a gap, beside the names of the workload's spans."""


@dataclass(frozen=True)
class Cut:
    """Pieces of gaps, in order; `gap` is the number of the gap that each belongs to."""

    start: Times
    end: Times
    gap: NDArray[np.int64]


def cut_at(gaps: IntervalSet, bounds: Iterable[Times]) -> Cut:
    """Cut the gaps at those of the moments, given in parts, that lie inside one of them."""
    inner_moments = [part[gaps.contains(part)] for part in bounds]
    start = distinct(np.concatenate((gaps.starts, *inner_moments)))
    gap = np.searchsorted(gaps.starts, start, side="right") - 1
    end = np.minimum(np.append(start[1:], FOREVER)[: start.size], gaps.ends[gap])
    return Cut(start, end, gap)


def attribute_gaps(
    gaps: IntervalSet,
    lives: Lives,
    awaited: Awaited,
    around: Surroundings,
    target: Lives,
    many: float = FEWEST,
) -> pd.DataFrame:
    """Return the pieces of a device's gaps, each with its party, its cause, and what is known.

    `lives` are the command buffers on this device, `awaited` what the commit of each waited for,
    `target` are those on all devices. `many` is the number of boundaries from which they are a
    habit of the loop.
    """
    follows = _followers(gaps, lives)
    pieces = cut_at(gaps, chain(lives.bounds, around.bounds, awaited.bounds))
    sights = around.look_at(pieces.start)
    party = _parties(pieces, lives, awaited, sights, target, follows)
    cause = _causes(pieces, party, lives, around, sights, target, follows)
    cause = _starts(pieces, cause, lives, gaps, follows, many)
    during, names = _during(pieces.start, around, sights)
    waited = _judge_waits(gaps, follows, awaited)[pieces.gap]
    codes = {"party": party, "cause": cause, "waited": waited, "during": during}
    texts = {
        "party": list(map(str, Party)),
        "cause": list(map(str, Cause)),
        "waited": [wait.name.lower() for wait in Wait],
        "during": names,
    }
    return _join_pieces(pieces, codes, texts)


def _followers(gaps: IntervalSet, lives: Lives) -> NDArray[np.intp]:
    """Return the place of the command buffer that the device starts next; the number of all: none.

    It is the one to which the work after the gap belongs, whether it was begun before or not.
    """
    return np.searchsorted(lives.started, gaps.ends, side="left")


def _parties(
    pieces: Cut,
    lives: Lives,
    awaited: Awaited,
    sights: Sights,
    target: Lives,
    follows: NDArray[np.intp],
) -> Codes:
    moments = pieces.start
    party = np.select(
        [lives.running.contains(moments), lives.on_the_way_there.contains(moments)],
        [_code(Party.WITHIN_BUFFER), _code(Party.WAY_THERE)],
        _code(Party.HOST),
    )
    # Mostly these are few; whom they belong to takes several looks.
    host_pieces = np.flatnonzero(party == _code(Party.HOST))
    follow = follows[pieces.gap[host_pieces]]
    party[host_pieces] = _other_parties(
        moments[host_pieces], follow, lives, awaited, sights.select(host_pieces), target
    )
    return party


def _other_parties(
    moments: Times,
    follow: NDArray[np.intp],
    lives: Lives,
    awaited: Awaited,
    sights: Sights,
    target: Lives,
) -> Codes:
    """Return the party of moments at which no command buffer was there or on its way there."""
    holders = _find_holders(moments, follow, awaited, sights.encoding)
    # Behind the last command buffer nothing tells of a thread that goes on.
    tail = follow == lives.started.size
    compiling = sights.compiled
    # What the driver does while a command buffer is on its way is for that one.
    driver = sights.driver & ~target.on_the_way_there.contains(moments)
    alone = sights.encoding & _begun_last(moments, follow, awaited)
    untold = _is_commit_unknown(lives, follow) & ~alone
    unseen = ~(sights.encoding | sights.wiring | driver | compiling)
    return np.select(
        [
            untold & ~driver & ~compiling,
            holders != _code(Party.HOST),
            tail & lives.on_the_way_back.contains(moments),
            tail & target.running.contains(moments),
            compiling & ~(untold & awaited.has_several_threads),
            untold | (unseen & _is_report_unknown(lives, moments)),
        ],
        [
            _code(Party.UNKNOWN),
            holders,
            _code(Party.WAY_BACK),
            _code(Party.OTHER_DEVICE),
            _code(Party.COMPILE),
            _code(Party.UNKNOWN),
        ],
        _code(Party.HOST),
    )


def _judge_waits(gaps: IntervalSet, follows: NDArray[np.intp], awaited: Awaited) -> Codes:
    """Say for each gap whether the host waited: by its own commit, or the last that did before it.

    A commit counts that came after the device ran dry.
    """
    waits, earlier_waits = (
        np.append(column, Wait.NONE)[follows] for column in (awaited.waits, awaited.earlier_waits)
    )
    commits = np.append(awaited.lives[0].committed, NEVER)[follows]
    committed_in_gap = (waits == Wait.NO) & (commits > gaps.starts)
    return (
        np.minimum(np.where(committed_in_gap, earlier_waits, waits), Wait.YES).astype(np.int16)
        - Wait.NONE
    )


def _find_holders(
    moments: Times, follow: NDArray[np.intp], awaited: Awaited, writing: Flags
) -> Codes:
    """Say where the command buffer was whose report was awaited; with the host where none was.

    Where that is not known it may have been on the way back or on another device, but not while the
    host is seen to encode.
    """
    waits, earlier_waits = (
        np.append(column, Wait.NONE)[follow] for column in (awaited.waits, awaited.earlier_waits)
    )
    unsure = np.where(waits == Wait.NO, earlier_waits, waits) == Wait.UNKNOWN
    encoding_starts = np.append(awaited.encoding_starts, NEVER)[follow]
    is_open = ~(unsure & writing & (encoding_starts != NEVER) & (moments >= encoding_starts))
    holders = np.full(moments.size, _code(Party.HOST))
    there = np.where(unsure, _code(Party.OTHER_DEVICE), _code(Party.WAY_THERE))
    for lives in awaited.lives:
        committed, started, ended, completed = (
            np.append(part, NEVER)[follow] for part in lives.parts
        )
        is_open &= moments < completed
        handed_over = np.where(committed == NEVER, started, committed)
        reached = is_open & (moments >= handed_over)
        places = [moments >= ended, moments >= started]
        hop_holders = np.select(places, [_code(Party.WAY_BACK), _code(Party.OTHER_DEVICE)], there)
        holders = np.where(reached, hop_holders, holders)
        is_open &= ~reached
    return holders.astype(np.int16)


def _begun_last(moments: Times, follow: NDArray[np.intp], awaited: Awaited) -> Flags:
    """Tell where the next command buffer is the last of all that the host had begun to encode."""
    encoding_starts = np.append(awaited.encoding_starts, NEVER)[follow]
    latest_starts = np.append(NEVER, awaited.all_encoding_starts)[
        np.searchsorted(awaited.all_encoding_starts, moments, side="right")
    ]
    return (encoding_starts != NEVER) & (encoding_starts == latest_starts)


def _is_commit_unknown(lives: Lives, follow: NDArray[np.intp]) -> Flags:
    """Tell where the commit of the next command buffer is not known, or of all where none is."""
    none_known = bool((lives.committed == NEVER).all())
    tail_commit = FOREVER if not none_known else NEVER
    return np.append(lives.committed, tail_commit)[follow] == NEVER


def _is_report_unknown(lives: Lives, moments: Times) -> Flags:
    """Tell where the last command buffer that the device had started has no known report."""
    behind = np.searchsorted(lives.started, moments, side="right")
    return np.concatenate(([FOREVER], lives.completed))[behind] == NEVER


def _causes(
    pieces: Cut,
    party: Codes,
    lives: Lives,
    around: Surroundings,
    sights: Sights,
    target: Lives,
    follows: NDArray[np.intp],
) -> Codes:
    there = party == _code(Party.WAY_THERE)
    in_buffer = party == _code(Party.WITHIN_BUFFER)
    unknown = party == _code(Party.UNKNOWN)
    host = (party == _code(Party.HOST)) | unknown
    moments = pieces.start[there]
    follow = follows[pieces.gap[there]]
    committed = np.append(lives.committed, FOREVER)[follow]
    committed = np.where(committed == NEVER, FOREVER, committed)
    driving = there.copy()
    asleep = there.copy()
    through = _driven(committed, around, target)
    driving[there] = around.driving(moments, committed, through)
    asleep[there] = around.asleep(moments, np.append(lives.started, FOREVER)[follow])
    return np.select(
        [
            sights.compiled & unknown,
            sights.wiring & (there | host),
            driving,
            sights.driver & host,
            sights.other_processes & (there | in_buffer),
            asleep,
            sights.encoding & host & ~unknown,
        ],
        [
            _code(Cause.COMPILE),
            _code(Cause.WIRING),
            _code(Cause.DRIVER),
            _code(Cause.DRIVER),
            _code(Cause.OTHER_PROCESS),
            _code(Cause.POWERING_UP),
            _code(Cause.ENCODING),
        ],
        _REST_CODES[party],
    )


def _driven(committed: Times, around: Surroundings, target: Lives) -> Times:
    """Return when the driver was through with the command buffers of these commits."""
    order = np.argsort(target.committed, kind="stable")
    committed_order = order[target.committed[order] != NEVER]
    commits = target.committed[committed_order]
    through = around.driven(commits, target.started[committed_order])
    return np.append(through, FOREVER)[np.searchsorted(commits, committed)]


def _starts(
    pieces: Cut,
    cause: Codes,
    lives: Lives,
    gaps: IntervalSet,
    follows: NDArray[np.intp],
    many: float,
) -> Codes:
    """Tell starts on a dry device, boundaries between command buffers and late starts apart.

    All are time on the way there that nothing explains; their sum in a gap decides.
    """
    unexplained = np.flatnonzero(cause == _code(Cause.BETWEEN_BUFFERS))
    groups = EqualRuns.from_keys(pieces.gap[unexplained])
    sums = groups.reduce(np.add, (pieces.end - pieces.start)[unexplained])
    gap = groups.keys
    committed = np.append(lives.committed, FOREVER)[follows[gap]]
    usual_start = lives.usual_start
    lead_times = gaps.starts[gap] - np.where(committed == NEVER, gaps.ends[gap], committed)
    dry = lead_times <= usual_start
    boundaries = sums[~dry]
    usual_boundary = float(np.quantile(boundaries, _USUAL)) if boundaries.size >= many else 0.0
    if usual_boundary > _LONGEST:
        usual_boundary = 0.0
    expected = np.where(dry, usual_start, usual_boundary)
    late = sums > np.maximum(LATE, _STANDS_OUT * expected)
    kinds = np.select(
        [late, dry], [_code(Cause.LATE_START), _code(Cause.START)], _code(Cause.BETWEEN_BUFFERS)
    )
    result = cause.copy()
    result[unexplained] = np.repeat(kinds, groups.sizes)
    return result


def _during(moments: Times, around: Surroundings, sights: Sights) -> tuple[Codes, list[str]]:
    """Return what the host did at each moment: the workload's word first, the innermost span."""
    names = ["", *DOING, *around.annotated]
    flags = [sights.compiler, sights.encoding, sights.wiring, sights.driver]
    doing = np.select(flags, [np.int16(names.index(kind)) for kind in DOING], np.int16(0))
    latest = np.full(moments.size, NEVER)
    for place, intervals in enumerate(around.annotated.values(), start=1 + len(DOING)):
        interval_starts = intervals.interval_start(moments)
        inner = (interval_starts > latest) & ~sights.compiler
        doing, latest = np.where(inner, np.int16(place), doing), np.maximum(latest, interval_starts)
    return doing, names


def _join_pieces(pieces: Cut, codes: dict[str, Codes], names: dict[str, list[str]]) -> pd.DataFrame:
    """Return the pieces as a table; neighbours of which the same is known become one."""
    fresh = np.ones(pieces.start.size, dtype=bool)
    fresh[1:] = np.diff(pieces.gap) != 0
    for column in codes.values():
        fresh[1:] |= np.diff(column) != 0
    first_pieces = np.flatnonzero(fresh)
    last_pieces = np.append(first_pieces[1:] - 1, pieces.end.size - 1)[: first_pieces.size]
    start = pieces.start[first_pieces]
    return pd.DataFrame(
        {
            "start": start,
            "duration": pieces.end[last_pieces] - start,
            "gap": pieces.gap[first_pieces],
            **{
                name: pd.Categorical.from_codes(column[first_pieces], pd.Index(names[name]))
                for name, column in codes.items()
            },
        }
    )


def _code(member: Party | Cause) -> np.int16:
    return np.int16(list(type(member)).index(member))


_REST_CODES = np.array([_code(_REST[party]) for party in Party], np.int16)
