"""Work on its way: handed over, prepared by the driver, run on the device, by whom."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import Times, busy, spans
from tracekit.report.panel import Tables
from tracekit.report.rows import Rows, of_others, of_target, rows
from tracekit.report.timeline.arrange import Heading, lead, numbers, track, words
from tracekit.report.timeline.marks import in_trace
from tracekit.report.timeline.track import Detail, Kind, Track
from tracekit.report.timeline.workload import marked

OTHERS_SHOWN = 5
_UNKNOWN_CHANNEL = "channel not stated"
_OWNERS = {"gpu": "GPU times of the trace", "host": "CPU work on the host's clock"}
_IDS = ("command_buffer", "encoder")


def device(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of what the target submitted and of what ran, a track for each channel."""
    sent, ran = of_target(tables, "submissions"), of_target(tables, "gpu_intervals")
    if sent.absence:
        yield f"No submissions: {sent.absence}."
    else:
        frame = sent.frame
        labels = frame["label"].where(frame["label"].fillna("") != "", frame["event"])
        heading = Heading("Submissions", Kind.SUBMISSIONS, "on the CPU, from creation to commit")
        yield track(heading, frame, labels, _belonging(frame, (sent, ran), _IDS[:1]))
    if ran.absence:
        yield f"No work of the target on the device: {ran.absence}."
        return
    for channel, part in ran.frame.groupby(_channels(ran.frame), sort=True):
        name = f"{channel}" if ran.clock == "host" else f"GPU {channel}"
        note = f"the target's; {_OWNERS.get(ran.clock, 'clock not stated')}"
        details = _belonging(part, (sent, ran), _IDS)
        latency = lead("from submission to start", part["start_latency"])
        if (latency.numbers >= 0).any():
            details = (latency, *details)
        yield track(Heading(name, Kind.DEVICE, note), part, part["label"], details)


def compiles(tables: Tables) -> Iterator[Track | str]:
    """Make the tracks of what the shader compiler did and of pipelines that were new."""
    found = of_target(tables, "compiler_activity")
    if found.absence:
        yield f"No compiler activity: {found.absence}."
    else:
        labels = found.frame["program"].fillna(found.frame["compiler"])
        yield track(Heading("Compiler", Kind.COMPILER, "for the target"), found.frame, labels)
    made = rows(tables, "specializations")
    if not made.absence:
        frame = made.frame.assign(start=made.frame["time"], duration=0)
        heading = Heading("New pipelines", Kind.COMPILER, "first use, by the workload's marks")
        yield marked(heading, in_trace(frame, frame["name"]))


def drivers(tables: Tables) -> Iterator[Track | str]:
    """Make the track of what the driver did."""
    found = rows(tables, "driver_intervals")
    if found.absence:
        yield f"No driver intervals: {found.absence}."
        return
    own = of_target(tables, "driver_intervals")
    frame, note = (found.frame, "all processes") if own.absence else (own.frame, "for the target")
    labels = frame["event"].fillna(frame["label"])
    yield track(Heading("Driver", Kind.DRIVER, note), frame, labels)


def others(tables: Tables) -> Iterator[Track]:
    """Make a track for each of the processes that used the device most, and one for the rest."""
    found = of_others(tables, "gpu_intervals")
    if found.absence:
        return
    names = found.frame["process"].fillna("process not stated").astype(str)
    groups = {str(name): part for name, part in found.frame.groupby(names)}
    ranked = sorted(groups, key=lambda name: (-busy(*spans(groups[name])), name))
    for name in ranked[:OTHERS_SHOWN]:
        yield _other(name, groups[name])
    if rest := ranked[OTHERS_SHOWN:]:
        yield _other(f"{len(rest)} more processes", pd.concat([groups[name] for name in rest]))


def _other(name: str, frame: pd.DataFrame) -> Track:
    details = (words("process", frame["process"]), words("channel", frame["channel"]))
    return track(Heading(name, Kind.OTHERS, "another process"), frame, frame["label"], details)


def _channels(frame: pd.DataFrame) -> pd.Series:
    return frame["channel"].fillna(_UNKNOWN_CHANNEL).astype(str)


def _belonging(
    frame: pd.DataFrame, tables: tuple[Rows, ...], columns: tuple[str, ...]
) -> tuple[Detail, ...]:
    """Number what rows belong to, alike on all tracks; what no row names is left out."""
    details = [
        numbers(column.replace("_", " "), frame[column], _all_ids(tables, column))
        for column in columns
    ]
    return tuple(one for one in details if one.numbers.any())


def _all_ids(tables: tuple[Rows, ...], column: str) -> Times:
    known = [
        one.frame[column].dropna().to_numpy(np.uint64) for one in tables if column in one.frame
    ]
    ids = np.sort(np.concatenate(known))
    return ids[np.append(np.array([True]), ids[1:] != ids[:-1])[: ids.size]]
