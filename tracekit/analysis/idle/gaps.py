"""The tables `loaded` and `gaps`: time with work to do, and the pieces of it in which none ran."""

import numpy as np
import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.awaited import awaited_of
from tracekit.analysis.idle.causes import FEWEST
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.pieces import attribute_gaps
from tracekit.analysis.idle.samples import other_thread
from tracekit.analysis.idle.surroundings import NO_WORK, Surroundings
from tracekit.analysis.idle.waits import Waits
from tracekit.analysis.idle.whole import GapsTable
from tracekit.analysis.idle.work import DeviceWork
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import FOREVER, IntervalSet, choose_rows
from tracekit.analysis.intervals import gaps as between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop

_NO_HABIT = FOREVER  # a number of boundaries that no loop has
_OFTEN = 2  # boundaries an iteration, from which they are a habit of it


def loaded_table(
    loop: Loop, spans: pd.DataFrame | None, pauses: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the table `loaded`: the stretches of the window in which there was work to do.

    Three kinds of time are left out: spans `idle` of a server, in which it had no request; spans in
    which the worker timed its reference work; and pauses.
    """
    unloaded = IntervalSet.empty()
    if pauses is not None:
        unloaded = IntervalSet.from_spans(*bounds(pauses))
    if spans is not None:
        without_work = IntervalSet.from_spans(*bounds(spans[spans["name"].isin(NO_WORK)]))
        unloaded = IntervalSet.union_of([unloaded, without_work])
    starts, ends = between(unloaded.starts, unloaded.ends, loop.start, loop.end)
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

    `life` has an entry for each interval of the target's work on a device, unlike `Lives`, which
    has one for each command buffer. `handover` is required, although nothing reads it: if work
    cannot be told from its submission, the gaps are not known either.
    """
    if cpu_profile is not None and len(cpu_profile):
        # If samples show another thread at work in long boundaries, they are late starts, however
        # many there are.
        without_habit = _gaps_by_device(loaded, life, timeline, waits, around, _NO_HABIT)
        if other_thread(without_habit, cpu_profile, submissions):
            return without_habit
    return _gaps_by_device(loaded, life, timeline, waits, around, _count_habit(iterations))


def _count_habit(iterations: pd.DataFrame | None) -> float:
    """Return the number of boundaries that are a habit of the loop; long ones are not late then."""
    if iterations is None:
        return FEWEST
    return max(FEWEST, _OFTEN * len(iterations))


def _gaps_by_device(
    loaded: pd.DataFrame,
    life: DeviceWork,
    timeline: pd.DataFrame,
    waits: Waits,
    around: Surroundings,
    habit: float,
) -> pd.DataFrame:
    """Return the table `gaps`, one device after the other, with one count of gaps for all."""
    awaited = awaited_of(timeline, waits)
    target = Lives.from_timeline(timeline)
    devices = np.unique(life.device)
    tables: list[pd.DataFrame] = []
    gap_count = 0
    for code, device in enumerate(devices.tolist()):
        is_on_device = (timeline["device"] == device).to_numpy(np.bool_)
        pieces = attribute_gaps(
            _find_idle_times(_union_work(life, device), loaded),
            Lives.from_timeline(choose_rows(timeline, is_on_device)),
            awaited.select(is_on_device),
            around,
            target,
            habit,
        )
        codes = np.full(len(pieces), code, np.int16)
        numbers = pd.Categorical.from_codes(codes, pd.Index(devices))
        tables.append(pieces.assign(gap=pieces["gap"] + gap_count, device=numbers))
        if len(pieces):
            gap_count += int(pieces["gap"].max()) + 1
    if len(tables) == 1:
        return GapsTable.from_frame(tables[0])
    return GapsTable.from_frame(pd.concat(tables, ignore_index=True))


def _union_work(life: DeviceWork, device: int) -> IntervalSet:
    is_on_device = life.device == device
    return IntervalSet.from_spans(life.start[is_on_device], life.end[is_on_device])


def _find_idle_times(running: IntervalSet, loaded: pd.DataFrame) -> IntervalSet:
    """Return the parts of the loaded time in which nothing ran."""
    load = IntervalSet.from_spans(*bounds(loaded))
    load_start = int(load.starts[0])
    load_end = int(load.ends[-1])
    pause_starts, pause_ends = between(load.starts, load.ends, load_start, load_end)
    starts = np.concatenate((running.starts, pause_starts))
    ends = np.concatenate((running.ends, pause_ends))
    return IntervalSet(*between(starts, ends, load_start, load_end))
