"""Every gap of a device, cut into pieces with one party and one cause each.

The *party* held the device up. A moment belongs to the first of these that holds:

- *within-buffer*: the device had begun a command buffer and not ended it. The pause lies between
  two encoders.
- *way-there*: a command buffer was committed and not started.
- *way-back*: the thread that commits next waited for the report of a command buffer, which had
  ended and was not yet reported complete. If the thread is known not to have waited for it, the
  time is the host's; if that is not known, the time is the host's while it encodes.
- *other-device*: the command buffer whose report that thread waited for was on another device.
  Before it began there, the time is on the way there; before it was committed, it belongs to the
  report that this commit waited for. Another thread's work on another device holds nothing up.
- *compile*: a pipeline was compiled.
- *host*: everything that had been committed was reported complete. It is the host's turn.
- *unknown*: the recording shows neither when the next work was committed, nor when the last was
  reported.

The *cause* says more if more was recorded:

- On the way there: memory was wired, the driver prepared that command buffer, another process ran
  on the target's channel, or the device was powered up. The rest is the *start* of work on a device
  that had run dry, or a *boundary between command buffers* if the next one had been committed for
  longer than a start takes. It is a *late start* if it is longer than `LATE` in its gap and far
  longer than the others.
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
from tracekit.analysis.idle.surroundings import Flags, Sights, Surroundings
from tracekit.analysis.intervals import FOREVER, NEVER, EqualRuns, IntervalSet, Times, distinct

LATE = 100_000
"""Queued work that waits longer than this on a device that nobody uses starts late; ns."""
FEWEST = 8
"""Fewer boundaries than this do not count as a habit of a loop."""
_USUAL = 0.4  # the quantile of boundaries that counts as their usual length
_LONGEST = 300_000  # ns: no boundary was ever reported to be that long
_STANDS_OUT = 3.0  # times that length


class Party(StrEnum):
    """The party that held the device up; see the module. `WORKS` and `PAUSE` are not idle time."""

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
    Party.UNKNOWN: "at times when commits and reports are not known",
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
"""The activities of the host in a gap, next to the names of the workload's spans."""


@dataclass(frozen=True)
class Cut:
    """Pieces of gaps, in order; `gap` is the number of the gap that each belongs to."""

    start: Times
    end: Times
    gap: NDArray[np.int64]


def cut_at(gaps: IntervalSet, bounds: Iterable[Times]) -> Cut:
    """Cut the gaps at those of the moments, given in parts, that lie inside one of them."""
    moments = distinct(np.concatenate(list(bounds)))
    start = distinct(np.concatenate((gaps.starts, moments[gaps.contains(moments)])))
    next_gaps = np.searchsorted(gaps.starts, start, side="right")
    gap = next_gaps - 1
    next_starts = np.append(start[1:], FOREVER)[: start.size]
    end = np.minimum(next_starts, gaps.ends[gap])
    return Cut(start, end, gap)


def attribute_gaps(
    gaps: IntervalSet,
    lives: Lives,
    awaited: Awaited,
    around: Surroundings,
    target: Lives,
    many: float = FEWEST,
) -> pd.DataFrame:
    """Return the pieces of a device's gaps, each with party, cause and the host's activity.

    `lives` are the command buffers on this device, `awaited` those that the commit of each waited
    for, `target` those on all devices. `many` is the number of boundaries from which they are a
    habit of the loop.
    """
    follows = _followers(gaps, lives)
    bounds = chain(lives.bounds, around.bounds, awaited.bounds)
    pieces = cut_at(gaps, bounds)
    sights = around.look_at(pieces.start)
    party = _parties(pieces, lives, awaited, sights, target, follows)
    cause = _causes(pieces, party, lives, around, sights, target, follows)
    cause = _starts(pieces, cause, lives, gaps, follows, many)
    during, names = _during(pieces.start, around, sights)
    waited = _judge_waits(gaps, follows, awaited)[pieces.gap]
    waited_names = [wait.name.lower() for wait in Wait]
    codes = {"party": party, "cause": cause, "waited": waited, "during": during}
    parties = list(map(str, Party))
    causes = list(map(str, Cause))
    texts = {
        "party": parties,
        "cause": causes,
        "waited": waited_names,
        "during": names,
    }
    return _join_pieces(pieces, codes, texts)


def _followers(gaps: IntervalSet, lives: Lives) -> NDArray[np.intp]:
    """Return the place of the command buffer that the device starts next; the number of all: none.

    The work after the gap belongs to it, whether it had started before or not.
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
    running = lives.running.contains(moments)
    on_the_way = lives.on_the_way_there.contains(moments)
    party = np.select(
        [running, on_the_way],
        [_code(Party.WITHIN_BUFFER), _code(Party.WAY_THERE)],
        _code(Party.HOST),
    )
    # These are mostly few, and each takes several look-ups.
    host_pieces = np.flatnonzero(party == _code(Party.HOST))
    host_moments = moments[host_pieces]
    host_follows = follows[pieces.gap[host_pieces]]
    host_sights = sights.select(host_pieces)
    party[host_pieces] = _other_parties(
        host_moments,
        host_follows,
        lives,
        awaited,
        host_sights,
        target,
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
    # Behind the last command buffer nothing shows a thread that goes on.
    tail = follow == lives.started.size
    returning = lives.on_the_way_back.contains(moments)
    running = target.running.contains(moments)
    compiling = sights.compiled
    # While a command buffer is on its way, the driver works for that one.
    is_on_the_way = target.on_the_way_there.contains(moments)
    driver = sights.driver & ~is_on_the_way
    alone = sights.encoding & _started_last(moments, follow, awaited)
    untold = _is_commit_unknown(lives, follow) & ~alone
    unseen = ~(sights.encoding | sights.wiring | driver | compiling)
    unreported = unseen & _is_report_unknown(lives, moments)
    conditions = [
        untold & ~driver & ~compiling,
        holders != _code(Party.HOST),
        tail & returning,
        tail & running,
        compiling & ~(untold & awaited.has_several_threads),
        untold | unreported,
    ]
    parties = [
        _code(Party.UNKNOWN),
        holders,
        _code(Party.WAY_BACK),
        _code(Party.OTHER_DEVICE),
        _code(Party.COMPILE),
        _code(Party.UNKNOWN),
    ]
    return np.select(conditions, parties, _code(Party.HOST))


def _judge_waits(gaps: IntervalSet, follows: NDArray[np.intp], awaited: Awaited) -> Codes:
    """Return for each gap whether the host waited: by its own commit, or the last that did.

    A commit counts that came after the device ran dry.
    """
    all_waits = np.append(awaited.waits, Wait.NONE)
    waits = all_waits[follows]
    all_earlier_waits = np.append(awaited.earlier_waits, Wait.NONE)
    earlier_waits = all_earlier_waits[follows]
    all_commits = np.append(awaited.lives[0].committed, NEVER)
    commits = all_commits[follows]
    committed_in_gap = (waits == Wait.NO) & (commits > gaps.starts)
    waits_in_gap = np.where(committed_in_gap, earlier_waits, waits)
    limited_waits = np.minimum(waits_in_gap, Wait.YES)
    return limited_waits.astype(np.int16) - Wait.NONE


def _find_holders(
    moments: Times, follow: NDArray[np.intp], awaited: Awaited, writing: Flags
) -> Codes:
    """Return the place of the command buffer whose report was awaited; the host without a wait.

    If the wait is not known, it may have been on the way back or on another device, but not while
    the host is seen to encode.
    """
    all_waits = np.append(awaited.waits, Wait.NONE)
    waits = all_waits[follow]
    all_earlier_waits = np.append(awaited.earlier_waits, Wait.NONE)
    earlier_waits = all_earlier_waits[follow]
    last_waits = np.where(waits == Wait.NO, earlier_waits, waits)
    unsure = last_waits == Wait.UNKNOWN
    encoding_starts = np.append(awaited.encoding_starts, NEVER)[follow]
    encoded = writing & (encoding_starts != NEVER) & (moments >= encoding_starts)
    is_open = ~(unsure & encoded)
    holders = np.full(moments.size, _code(Party.HOST))
    other_device = _code(Party.OTHER_DEVICE)
    way_there = _code(Party.WAY_THERE)
    there = np.where(unsure, other_device, way_there)
    for lives in awaited.lives:
        committed = np.append(lives.committed, NEVER)[follow]
        started = np.append(lives.started, NEVER)[follow]
        ended = np.append(lives.ended, NEVER)[follow]
        completed = np.append(lives.completed, NEVER)[follow]
        is_open &= moments < completed
        handed_over = np.where(committed == NEVER, started, committed)
        reached = is_open & (moments >= handed_over)
        hop_holders = np.select(
            [moments >= ended, moments >= started],
            [_code(Party.WAY_BACK), _code(Party.OTHER_DEVICE)],
            there,
        )
        holders = np.where(reached, hop_holders, holders)
        is_open &= ~reached
    return holders.astype(np.int16)


def _started_last(moments: Times, follow: NDArray[np.intp], awaited: Awaited) -> Flags:
    """Return whether the next command buffer is the last that the host had started to encode."""
    encoding_starts = np.append(awaited.encoding_starts, NEVER)[follow]
    start_counts = np.searchsorted(awaited.all_encoding_starts, moments, side="right")
    latest_starts = np.append(NEVER, awaited.all_encoding_starts)[start_counts]
    return (encoding_starts != NEVER) & (encoding_starts == latest_starts)


def _is_commit_unknown(lives: Lives, follow: NDArray[np.intp]) -> Flags:
    """Return whether the commit of the next command buffer is unknown; without one, of all."""
    none_known = bool((lives.committed == NEVER).all())
    tail_commit = NEVER if none_known else FOREVER
    commits = np.append(lives.committed, tail_commit)
    return commits[follow] == NEVER


def _is_report_unknown(lives: Lives, moments: Times) -> Flags:
    """Return whether the last command buffer that the device had started has no known report."""
    behind = np.searchsorted(lives.started, moments, side="right")
    reports = np.concatenate(([FOREVER], lives.completed))
    return reports[behind] == NEVER


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
    on_the_host = party == _code(Party.HOST)
    moments = pieces.start[there]
    follow = follows[pieces.gap[there]]
    started = np.append(lives.started, FOREVER)[follow]
    committed = np.append(lives.committed, FOREVER)[follow]
    committed = np.where(committed == NEVER, FOREVER, committed)
    through = _driven(committed, around, target)
    driving = there.copy()
    driving[there] = around.driving(moments, committed, through)
    asleep = there.copy()
    asleep[there] = around.asleep(moments, started)
    conditions = [
        sights.compiled & unknown,
        sights.wiring & (there | on_the_host | unknown),
        driving,
        sights.driver & (on_the_host | unknown),
        sights.other_processes & (there | in_buffer),
        asleep,
        sights.encoding & on_the_host,
    ]
    causes = [
        _code(Cause.COMPILE),
        _code(Cause.WIRING),
        _code(Cause.DRIVER),
        _code(Cause.DRIVER),
        _code(Cause.OTHER_PROCESS),
        _code(Cause.POWERING_UP),
        _code(Cause.ENCODING),
    ]
    return np.select(conditions, causes, _REST_CODES[party])


def _driven(committed: Times, around: Surroundings, target: Lives) -> Times:
    """Return when the driver was through with the command buffers of these commits."""
    order = np.argsort(target.committed, kind="stable")
    is_committed = target.committed[order] != NEVER
    committed_order = order[is_committed]
    commits = target.committed[committed_order]
    through = around.driven(commits, target.started[committed_order])
    commit_places = np.searchsorted(commits, committed)
    return np.append(through, FOREVER)[commit_places]


def _starts(
    pieces: Cut,
    cause: Codes,
    lives: Lives,
    gaps: IntervalSet,
    follows: NDArray[np.intp],
    many: float,
) -> Codes:
    """Distinguish starts on a dry device, boundaries between command buffers and late starts.

    All are time on the way there that nothing explains; their sum in a gap decides.
    """
    between_buffers = _code(Cause.BETWEEN_BUFFERS)
    is_unexplained = cause == between_buffers
    unexplained = np.flatnonzero(is_unexplained)
    groups = EqualRuns.from_keys(pieces.gap[unexplained])
    lengths = (pieces.end - pieces.start)[unexplained]
    sums = groups.reduce(np.add, lengths)
    gap = groups.keys
    all_commits = np.append(lives.committed, FOREVER)
    committed = all_commits[follows[gap]]
    committed = np.where(committed == NEVER, gaps.ends[gap], committed)
    lead_times = gaps.starts[gap] - committed
    usual_start = lives.usual_start
    dry = lead_times <= usual_start
    usual_boundary = _find_usual_boundary(sums[~dry], many)
    expected = np.where(dry, usual_start, usual_boundary)
    longest_time = np.maximum(LATE, _STANDS_OUT * expected)
    late = sums > longest_time
    kind_codes = [_code(Cause.LATE_START), _code(Cause.START)]
    kinds = np.select([late, dry], kind_codes, _code(Cause.BETWEEN_BUFFERS))
    result = cause.copy()
    result[unexplained] = np.repeat(kinds, groups.sizes)
    return result


def _find_usual_boundary(boundaries: Times, many: float) -> float:
    """Return the usual length of boundaries, in ns; 0 if they are few, or impossibly long."""
    if boundaries.size < many:
        return 0.0
    usual_boundary = float(np.quantile(boundaries, _USUAL))
    if usual_boundary > _LONGEST:
        return 0.0
    return usual_boundary


def _during(moments: Times, around: Surroundings, sights: Sights) -> tuple[Codes, list[str]]:
    """Return the host's activity at each moment, and all names: the innermost span comes first."""
    names = ["", *DOING, *around.annotated]
    flags = [sights.compiler, sights.encoding, sights.wiring, sights.driver]
    codes = [np.int16(names.index(kind)) for kind in DOING]
    doing = np.select(flags, codes, np.int16(0))
    latest = np.full(moments.size, NEVER)
    annotated = enumerate(around.annotated.values(), start=1 + len(DOING))
    for place, intervals in annotated:
        interval_starts = intervals.interval_start(moments)
        inner = (interval_starts > latest) & ~sights.compiler
        doing = np.where(inner, np.int16(place), doing)
        latest = np.maximum(latest, interval_starts)
    return doing, names


def _join_pieces(pieces: Cut, codes: dict[str, Codes], names: dict[str, list[str]]) -> pd.DataFrame:
    """Return the pieces as a table; neighbours with the same values become one."""
    fresh = np.ones(pieces.start.size, dtype=bool)
    fresh[1:] = np.diff(pieces.gap) != 0
    for column in codes.values():
        fresh[1:] |= np.diff(column) != 0
    first_pieces = np.flatnonzero(fresh)
    next_firsts = np.append(first_pieces[1:] - 1, pieces.end.size - 1)
    last_pieces = next_firsts[: first_pieces.size]
    start = pieces.start[first_pieces]
    duration = pieces.end[last_pieces] - start
    gap = pieces.gap[first_pieces]
    table = pd.DataFrame(
        {
            "start": start,
            "duration": duration,
            "gap": gap,
        }
    )
    for name, column in codes.items():
        categories = pd.Index(names[name])
        first_codes = column[first_pieces]
        table[name] = pd.Categorical.from_codes(first_codes, categories)
    return table


def _code(member: Party | Cause) -> np.int16:
    members = list(type(member))
    return np.int16(members.index(member))


_REST_CODES = np.array([_code(_REST[party]) for party in Party], np.int16)
