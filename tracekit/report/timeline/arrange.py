"""Rows of a table become a track: named, ordered, laid into lanes."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import Times, spans, union
from tracekit.analysis.work_names import families
from tracekit.report.timeline.lanes import MOST, assign
from tracekit.report.timeline.track import Detail, Kind, Track

UNKNOWN = -1
MERGED = "several, merged"


@dataclass(frozen=True)
class Heading:
    """What stands beside a track."""

    name: str
    kind: Kind
    note: str = ""


def track(
    heading: Heading,
    frame: pd.DataFrame,
    labels: pd.Series,
    details: tuple[Detail, ...] = (),
    most: int = MOST,
) -> Track:
    """Make a track of the rows of a table with `start` and `duration`.

    Rows that find no free lane are merged into one lane more, and the note says how many.
    """
    starts, ends = spans(frame)
    codes, texts = families(labels)
    order = np.lexsort((-ends, starts))
    lanes = assign(starts[order], ends[order], most)
    order, lanes = order[np.argsort(lanes, kind="stable")], np.sort(lanes, kind="stable")
    left_out, kept, lanes = order[lanes < 0], order[lanes >= 0], lanes[lanes >= 0]
    sizes = tuple(int(size) for size in np.bincount(lanes))
    whole = Track(
        name=heading.name,
        kind=heading.kind,
        starts=starts[kept],
        durations=(ends - starts)[kept],
        codes=codes.to_numpy(dtype=np.int64)[kept],
        texts=texts,
        lanes=sizes,
        note=_note(heading.note, frame),
        details=tuple(_taken(detail, kept) for detail in details),
    )
    return _with_merged(whole, starts[left_out], ends[left_out]) if left_out.size else whole


def windows(
    heading: Heading, starts: Times, ends: Times, texts: tuple[str, ...], most: int = MOST
) -> Track:
    """Make a track of windows, each with its text."""
    frame = pd.DataFrame({"start": starts, "duration": ends - starts})
    return track(heading, frame, pd.Series(texts, dtype=object), most=most)


def times(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls."""
    return Detail(name, "ns", values.fillna(UNKNOWN).to_numpy(dtype=np.int64))


def lead(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls, that each ended when its interval started."""
    return replace(times(name, values), unit="lead")


def words(name: str, values: pd.Series) -> Detail:
    """Make a detail of strings, with nulls."""
    codes, distinct = pd.factorize(values)
    return Detail(name, "text", codes.astype(np.int64), tuple(str(text) for text in distinct))


def numbers(name: str, ids: pd.Series, known: Times) -> Detail:
    """Make a detail of ids: the place of each among all known ones, from 1; nought for none."""
    values = ids.to_numpy(dtype=np.uint64, na_value=0)
    places = np.searchsorted(known, values) + 1
    return Detail(name, "number", np.where(ids.notna().to_numpy(bool), places, 0))


def _note(note: str, frame: pd.DataFrame) -> str:
    unknown = int(frame["duration"].isna().sum())
    extra = f"{unknown:,} without a duration, drawn as points" if unknown else ""
    return "; ".join(part for part in (note, extra) if part)


def _taken(detail: Detail, kept: Times) -> Detail:
    return Detail(detail.name, detail.unit, detail.numbers[kept], detail.texts)


def _with_merged(whole: Track, starts: Times, ends: Times) -> Track:
    count = starts.size
    starts, ends = union(starts, ends)
    note = f"{count:,} more that overlap are merged in the lowest lane"
    return Track(
        name=whole.name,
        kind=whole.kind,
        starts=np.concatenate((whole.starts, starts)),
        durations=np.concatenate((whole.durations, ends - starts)),
        codes=np.concatenate((whole.codes, np.full(starts.size, len(whole.texts), np.int64))),
        texts=(*whole.texts, MERGED),
        lanes=(*whole.lanes, int(starts.size)),
        note="; ".join(part for part in (whole.note, note) if part),
        details=tuple(
            Detail(
                one.name,
                one.unit,
                np.concatenate((one.numbers, np.full(starts.size, unknown(one), np.int64))),
                one.texts,
            )
            for one in whole.details
        ),
    )


def unknown(detail: Detail) -> int:
    """Return the number that stands for what is not known of an interval."""
    return 0 if detail.unit == "number" else UNKNOWN
