"""The cause of each piece of a gap, by recorded events.

`cause.py` defines causes and parties, `scene.py` the events around a gap, `lives.py` the times of
a command buffer.
"""

import numpy as np

from tracekit.analysis.idle.cause import Cause, Codes, Party, code_of
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.scene import GapScene, select_first, take_or
from tracekit.analysis.idle.surroundings import Flags, Surroundings
from tracekit.analysis.intervals import FOREVER, NEVER, EqualRuns, Times

LATE = 100_000
"""Queued work that waits longer than this on a device that nobody uses starts late; ns."""
FEWEST = 8
"""Fewer boundaries than this do not count as a habit of a loop."""
_USUAL = 0.4  # the quantile of boundaries that counts as their usual length
_LONGEST = 300_000  # ns: no boundary was ever reported to be that long
_STANDS_OUT = 3.0  # times that length

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
_REST_CODES = np.array([code_of(_REST[party]) for party in Party], np.int16)


def find_causes(scene: GapScene, parties: Codes, habit: float) -> Codes:
    """Return the cause of each piece, whose party is known.

    `habit` is the number of boundaries between command buffers from which they are a habit of the
    loop.
    """
    causes = _find_recorded_causes(scene, parties)
    return _distinguish_starts(scene, causes, habit)


def _find_recorded_causes(scene: GapScene, parties: Codes) -> Codes:
    """Return the cause of each piece by the events in it, else the rest of its party.

    Of the cases, the first that holds decides.
    """
    sights = scene.sights
    on_the_way = parties == code_of(Party.WAY_THERE)
    in_buffer = parties == code_of(Party.WITHIN_BUFFER)
    unknown = parties == code_of(Party.UNKNOWN)
    on_the_host = parties == code_of(Party.HOST)
    is_driven, is_asleep = _look_on_the_way(scene, on_the_way)
    cases = (
        (sights.compiled & unknown, code_of(Cause.COMPILE)),
        (sights.wiring & (on_the_way | on_the_host | unknown), code_of(Cause.WIRING)),
        (is_driven, code_of(Cause.DRIVER)),
        (sights.driver & (on_the_host | unknown), code_of(Cause.DRIVER)),
        (sights.other_processes & (on_the_way | in_buffer), code_of(Cause.OTHER_PROCESS)),
        (is_asleep, code_of(Cause.POWERING_UP)),
        (sights.encoding & on_the_host, code_of(Cause.ENCODING)),
    )
    return select_first(cases, _REST_CODES[parties])


def _look_on_the_way(scene: GapScene, on_the_way: Flags) -> tuple[Flags, Flags]:
    """Return in which of the pieces on the way there the driver worked, and the device slept.

    The driver's work counts if it was for the command buffer that comes next, or for one before.
    """
    moments = scene.pieces.start[on_the_way]
    next_buffers = scene.next_buffers[on_the_way]
    started = take_or(scene.lives.started, next_buffers, FOREVER)
    committed = take_or(scene.lives.committed, next_buffers, FOREVER)
    committed = np.where(committed == NEVER, FOREVER, committed)
    driver_ends = _find_driver_ends(committed, scene.around, scene.target)
    is_driven = on_the_way.copy()
    is_driven[on_the_way] = scene.around.driving(moments, committed, driver_ends)
    is_asleep = on_the_way.copy()
    is_asleep[on_the_way] = scene.around.asleep(moments, started)
    return is_driven, is_asleep


def _find_driver_ends(committed: Times, around: Surroundings, target: Lives) -> Times:
    """Return when the driver was through with the command buffers of these commits."""
    order = np.argsort(target.committed, kind="stable")
    is_committed = target.committed[order] != NEVER
    commit_order = order[is_committed]
    commits = target.committed[commit_order]
    driver_ends = around.driven(commits, target.started[commit_order])
    places = np.searchsorted(commits, committed)
    return take_or(driver_ends, places, FOREVER)


def _distinguish_starts(scene: GapScene, causes: Codes, habit: float) -> Codes:
    """Distinguish starts on a dry device, boundaries between command buffers and late starts.

    All are time on the way there that nothing explains; their sum in a gap decides.
    """
    pieces = scene.pieces
    unexplained = np.flatnonzero(causes == code_of(Cause.BETWEEN_BUFFERS))
    gap_runs = EqualRuns.from_keys(pieces.gap[unexplained])
    gaps = gap_runs.keys
    waiting_times = gap_runs.reduce(np.add, pieces.lengths[unexplained])
    gap_starts = scene.gaps.starts[gaps]
    gap_ends = scene.gaps.ends[gaps]
    committed = take_or(scene.lives.committed, scene.buffers_after_gaps[gaps], FOREVER)
    committed = np.where(committed == NEVER, gap_ends, committed)
    usual_start = scene.lives.usual_start
    # The device ran dry if the next command buffer had been committed for less than a start takes.
    is_dry = gap_starts - committed <= usual_start
    usual_boundary = _find_usual_boundary(waiting_times[~is_dry], habit)
    usual_times = np.where(is_dry, usual_start, usual_boundary)
    is_late = waiting_times > np.maximum(LATE, _STANDS_OUT * usual_times)
    cases = ((is_late, code_of(Cause.LATE_START)), (is_dry, code_of(Cause.START)))
    gap_causes = select_first(cases, code_of(Cause.BETWEEN_BUFFERS))
    result = causes.copy()
    result[unexplained] = np.repeat(gap_causes, gap_runs.sizes)
    return result


def _find_usual_boundary(boundaries: Times, habit: float) -> float:
    """Return the usual length of boundaries, in ns; 0 if they are few, or impossibly long."""
    if boundaries.size < habit:
        return 0.0
    usual_boundary = float(np.quantile(boundaries, _USUAL))
    if usual_boundary > _LONGEST:
        return 0.0
    return usual_boundary
