"""The party that held a device up at each moment of its gaps, and whether the host had waited.

`cause.py` defines the parties, and the order in which they count.
"""

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.idle.awaited import Awaited
from tracekit.analysis.idle.cause import Codes, Party, code_of
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.scene import GapScene, select_first, take_or
from tracekit.analysis.idle.slopes import Wait
from tracekit.analysis.idle.surroundings import Flags
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times


def find_parties(scene: GapScene) -> Codes:
    """Return the party of each piece."""
    moments = scene.pieces.start
    party = np.select(
        [scene.lives.running.contains(moments), scene.lives.on_the_way_there.contains(moments)],
        [code_of(Party.WITHIN_BUFFER), code_of(Party.WAY_THERE)],
        code_of(Party.HOST),
    )
    # The others are mostly few, and each takes several look-ups.
    other_pieces = np.flatnonzero(party == code_of(Party.HOST))
    party[other_pieces] = _find_other_parties(scene, other_pieces)
    return party


def _find_other_parties(scene: GapScene, places: NDArray[np.intp]) -> Codes:
    """Return the party of those pieces in which no command buffer was there or on its way there."""
    moments = scene.pieces.start[places]
    next_buffers = scene.next_buffers[places]
    sights = scene.sights.select(places)
    # Behind the last command buffer, nothing shows a thread that goes on.
    is_behind_last = next_buffers == scene.lives.started.size
    holders = _find_holders(scene.awaited, moments, next_buffers, sights.encoding)
    # While a command buffer is on its way, the driver works for that one.
    is_on_the_way = scene.target.on_the_way_there.contains(moments)
    driver = sights.driver & ~is_on_the_way
    encodes_next = sights.encoding & _is_encoded_next(scene.awaited, moments, next_buffers)
    is_commit_unknown = _is_commit_unknown(scene.lives, next_buffers) & ~encodes_next
    is_host_unseen = ~(sights.encoding | sights.wiring | driver | sights.compiled)
    is_report_unknown = is_host_unseen & _is_report_unknown(scene.lives, moments)
    may_be_another_thread = is_commit_unknown & scene.awaited.has_several_threads
    cases = (
        (is_commit_unknown & ~driver & ~sights.compiled, code_of(Party.UNKNOWN)),
        (holders != code_of(Party.HOST), holders),
        (is_behind_last & scene.lives.on_the_way_back.contains(moments), code_of(Party.WAY_BACK)),
        (is_behind_last & scene.target.running.contains(moments), code_of(Party.OTHER_DEVICE)),
        (sights.compiled & ~may_be_another_thread, code_of(Party.COMPILE)),
        (is_commit_unknown | is_report_unknown, code_of(Party.UNKNOWN)),
    )
    return select_first(cases, code_of(Party.HOST))


def _find_holders(
    awaited: Awaited, moments: Times, next_buffers: NDArray[np.intp], is_encoding: Flags
) -> Codes:
    """Return the place of the command buffer whose report was awaited; the host without a wait.

    If the wait is not known, it may have been on the way back or on another device, but not while
    the host is seen to encode.
    """
    last_waits = _take_last_waits(awaited, next_buffers)
    is_unsure = last_waits == Wait.UNKNOWN
    encoding_starts = take_or(awaited.encoding_starts, next_buffers, NEVER)
    has_begun = (encoding_starts != NEVER) & (moments >= encoding_starts)
    is_open = ~(is_unsure & is_encoding & has_begun)
    before_start = np.where(is_unsure, code_of(Party.OTHER_DEVICE), code_of(Party.WAY_THERE))
    holders = np.full(moments.size, code_of(Party.HOST))
    # From the command buffer that the next commit waited for to the one that its commit waited for:
    # the first that had been handed over and was not reported is the holder. `is_open` tells for
    # which pieces none was found so far, and one may still be.
    for lives in awaited.lives:
        committed = take_or(lives.committed, next_buffers, NEVER)
        started = take_or(lives.started, next_buffers, NEVER)
        ended = take_or(lives.ended, next_buffers, NEVER)
        completed = take_or(lives.completed, next_buffers, NEVER)
        handed_over = np.where(committed == NEVER, started, committed)
        is_open &= moments < completed
        is_holder = is_open & (moments >= handed_over)
        party = np.select(
            [moments >= ended, moments >= started],
            [code_of(Party.WAY_BACK), code_of(Party.OTHER_DEVICE)],
            before_start,
        )
        holders = np.where(is_holder, party, holders)
        is_open &= ~is_holder
    return holders.astype(np.int16)


def _take_last_waits(awaited: Awaited, next_buffers: NDArray[np.intp]) -> NDArray[np.int8]:
    """Return the wait of each commit; if it did not wait, of the latest one before it that did."""
    waits = take_or(awaited.waits, next_buffers, Wait.NONE)
    earlier_waits = take_or(awaited.earlier_waits, next_buffers, Wait.NONE)
    return np.where(waits == Wait.NO, earlier_waits, waits)


def _is_encoded_next(awaited: Awaited, moments: Times, next_buffers: NDArray[np.intp]) -> Flags:
    """Return whether the next command buffer is the last that the host had begun to encode."""
    encoding_starts = take_or(awaited.encoding_starts, next_buffers, NEVER)
    begun_counts = np.searchsorted(awaited.all_encoding_starts, moments, side="right")
    latest_starts = np.append(NEVER, awaited.all_encoding_starts)[begun_counts]
    return (encoding_starts != NEVER) & (encoding_starts == latest_starts)


def _is_commit_unknown(lives: Lives, next_buffers: NDArray[np.intp]) -> Flags:
    """Return whether the commit of the next command buffer is unknown; without one, of all."""
    is_none_known = bool((lives.committed == NEVER).all())
    commit_behind_last = NEVER if is_none_known else FOREVER
    return take_or(lives.committed, next_buffers, commit_behind_last) == NEVER


def _is_report_unknown(lives: Lives, moments: Times) -> Flags:
    """Return whether the last command buffer that the device had started has no known report."""
    started_counts = np.searchsorted(lives.started, moments, side="right")
    reports = np.concatenate(([FOREVER], lives.completed))
    return reports[started_counts] == NEVER


def judge_waits(
    gaps: IntervalSet, next_buffers: NDArray[np.intp], awaited: Awaited
) -> NDArray[np.int16]:
    """Return for each gap whether the host waited, as the place of a member of `Wait`.

    The commit that ends the gap decides. If it did not wait, the latest one before it that did
    decides, if it came after the device ran dry.
    """
    waits = take_or(awaited.waits, next_buffers, Wait.NONE)
    # The first hop of a commit that did not wait is the latest one before it that did.
    earlier_commits = take_or(awaited.lives[0].committed, next_buffers, NEVER)
    has_earlier_wait = (waits == Wait.NO) & (earlier_commits > gaps.starts)
    last_waits = _take_last_waits(awaited, next_buffers)
    waits_in_gap = np.where(has_earlier_wait, last_waits, waits)
    # Whichever report it was, the wait is one.
    waits_or_not = np.minimum(waits_in_gap, Wait.YES)
    return waits_or_not.astype(np.int16) - min(Wait)
