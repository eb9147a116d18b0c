"""The rows that count, their owners in words, and the part of the run that counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.fixed import FixedTable
from tracekit.analysis.inject import ON_THE_CPU, NotApplicable, Remedy, Unavailable
from tracekit.analysis.intervals import IntervalSet, Times, Window, busy, choose_rows, clip, spans
from tracekit.base import Process, units
from tracekit.tables import families
from tracekit.workload import IDLE, REFERENCE

Targets = tuple[Process, ...]

UNKNOWN = (
    "which process is the target is not known: no table of contents names it; "
    "`tracekit analyze --target PID|NAME` chooses one."
)

UNNAMED = "a GPU frame capture does not name its program, and holds the work of no other."


def of_target(frame: pd.DataFrame, targets: Targets) -> pd.DataFrame:
    """Return the target's rows; raise Unavailable, with the reason, if there are none."""
    if frame.empty:
        raise Unavailable("the table has no rows, of any process.")
    if not targets:
        raise Unavailable(UNKNOWN, Remedy.TARGET)
    target_rows = own_rows(frame)
    if target_rows.empty:
        raise Unavailable(f"none of the {len(frame):,} rows belongs to {name_targets(targets)}.")
    return target_rows


class Recorded(FixedTable):
    """A table that never changes: its target's rows, and its steady steps, are selected once."""

    @cached_property
    def target_rows(self) -> FixedTable:
        """The rows that belong to the target, cached because selecting them takes long."""
        chosen = self["target"].to_numpy(np.bool_)
        if chosen.all():
            return FixedTable.from_frame(self)
        target_rows = choose_rows(self, chosen)
        # By a range of numbers, rows are found without a table of all of them.
        return FixedTable.from_frame(target_rows.set_axis(pd.RangeIndex(len(target_rows))))

    @cached_property
    def steady_rows(self) -> FixedTable:
        """The steps of the steady phase, cached because each metric of steps asks for them."""
        return FixedTable.from_frame(_choose_steady(self))


def put_target_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the rows of the target before the others, in the same order each.

    Either is then a part of the table and not a copy. A table in which the rows
    of the target follow one another already, or are all, is returned itself.
    """
    if "target" not in frame:
        return frame
    is_of_target = frame["target"].to_numpy(np.bool_)
    places = np.flatnonzero(is_of_target)
    if not places.size or places[-1] - places[0] + 1 == places.size:
        return frame
    order = np.concatenate((places, np.flatnonzero(~is_of_target)))
    return frame.take(order).set_axis(pd.RangeIndex(len(frame)))


def own_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that belong to the target."""
    if isinstance(frame, Recorded):
        return frame.target_rows
    return choose_rows(frame, frame["target"].to_numpy(np.bool_))


def owners(frame: pd.DataFrame) -> pd.Series:
    """Return the owner of each row, in words such as "python3 (4711)"."""
    names = frame["process"].astype("string").fillna("unknown process").astype(str)
    pids = frame["pid"].astype("string").fillna("no pid")
    return names + " (" + pids + ")"


def name_targets(targets: Targets) -> str:
    """Return the target in words, such as "python3 (4711)"."""
    return ", ".join(
        f"{target.name} ({target.pid})" if target.name else f"pid {target.pid}"
        for target in targets
    )


def text_codes(
    frame: pd.DataFrame, column: str, missing: str
) -> tuple[NDArray[np.intp], list[str]]:
    """Return a code for each value of a text column, and the texts; `missing` replaces nulls."""
    if column not in frame:
        return np.zeros(len(frame), np.intp), [missing]
    codes, texts = pd.factorize(frame[column])
    names = [*map(str, texts), missing]
    return np.where(codes < 0, len(names) - 1, codes), names


@dataclass(frozen=True, eq=False)
class Device:
    """The device's work: the intervals of all processes, and the target's `target_intervals`."""

    intervals: pd.DataFrame
    target_intervals: pd.DataFrame

    @cached_property
    def spans(self) -> tuple[Times, Times]:
        """The starts and ends of the target's intervals."""
        return spans(self.target_intervals)

    @cached_property
    def channels(self) -> tuple[NDArray[np.intp], list[str]]:
        """The code of the channel of each of the target's intervals, and the channels' names."""
        return text_codes(self.target_intervals, "channel", "not stated")

    @cached_property
    def other_intervals(self) -> pd.DataFrame:
        """The intervals of other processes."""
        is_of_target = self.intervals["target"].to_numpy(np.bool_)
        return choose_rows(self.intervals, ~is_of_target)

    @cached_property
    def on_the_host(self) -> bool:
        """Whether a CPU did the work, by the host's clock."""
        return bool((self.intervals["clock"] == "host").any())

    @cached_property
    def families(self) -> tuple[pd.Series, tuple[str, ...]]:
        """The code of each label of the target's work, and the families that codes denote."""
        if "kernel" not in self.target_intervals:
            return families(self.target_intervals["label"])
        kernels = self.target_intervals["kernel"]
        if kernels.hasnans:
            kernels = kernels.astype("string").fillna("")
        codes, names = pd.factorize(kernels)
        family_names = tuple(map(str, names))
        return pd.Series(codes, self.target_intervals.index, dtype="int64"), family_names

    def clip_to_window(self, window: Window) -> tuple[Times, Times]:
        """Return the parts of the target's intervals that lie in a window."""
        return clip(*self.spans, window.start, window.end)

    def measure_work(self, window: Window) -> int:
        """Return the time in a window for which work of the target ran, in ns."""
        return busy(*self.clip_to_window(window))


def device_of(gpu_intervals: pd.DataFrame, targets: Targets) -> Device:
    """Return the device's work; raise Unavailable if there is none for the target."""
    return Device(gpu_intervals, of_target(gpu_intervals, targets))


def gpu_of(device: Device) -> Device:
    """Return the device if it is a GPU; raise Unavailable if a CPU did the work."""
    if device.on_the_host:
        raise NotApplicable(ON_THE_CPU)
    return device


def host_of(device: Device) -> Device:
    """Return the device if a CPU did the work; raise Unavailable for a GPU."""
    if not device.on_the_host:
        raise NotApplicable("the recording has GPU times; this number is for work on a CPU.")
    return device


def reference_work(annotations: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the starts and ends of reference work, from the table `spans`."""
    if annotations is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    is_reference = (annotations["name"] == REFERENCE).to_numpy(np.bool_, na_value=False)
    starts, ends = spans(annotations)
    return starts[is_reference], ends[is_reference]


def reference_time(annotations: pd.DataFrame | None, window: Window) -> int:
    """Return the time in a window in which reference work ran, in ns."""
    reference_spans = clip(*reference_work(annotations), window.start, window.end)
    return busy(*reference_spans)


_UNSEEN = 0.05
_PREFILL = "prefill"


def steady_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of the steady phase; raise Unavailable if there are none.

    A step that only waited for load does not count. The rows must not be changed.
    """
    steady_rows = steps.steady_rows if isinstance(steps, Recorded) else _choose_steady(steps)
    if steady_rows.empty:
        raise Unavailable("the workload made no step in its steady phase.")
    return steady_rows


def _choose_steady(steps: pd.DataFrame) -> pd.DataFrame:
    chosen = (steps["phase"] == "steady").to_numpy(np.bool_, na_value=False)
    if "variant" in steps:
        chosen = chosen & (steps["variant"] != IDLE).to_numpy(np.bool_, na_value=True)
    return choose_rows(steps, chosen)


def variants(steps: pd.DataFrame) -> list[str]:
    """Return the variants that the steps compare, sorted; empty if all are alike."""
    if "variant" not in steps:
        return []
    variant_names = pd.unique(steps["variant"].array)
    return sorted(str(name) for name in variant_names if pd.notna(name) and name)


def require_alike(steady: pd.DataFrame) -> None:
    """Raise Unavailable if the steps compare several variants."""
    names = variants(steady)
    if len(names) > 1:
        raise NotApplicable(f"steps are of several variants ({', '.join(names)}), of unlike work.")


def steady_tokens(steps: pd.DataFrame) -> int:
    """Return the tokens of the steady steps; raise Unavailable if there are none.

    Steps of several compared variants count together, as their time does.
    """
    tokens = int(steady_steps(steps)["tokens"].fillna(0).sum())
    if tokens == 0:
        raise NotApplicable("the workload produces no tokens.")
    return tokens


def require_seen(steady: pd.DataFrame, target_intervals: pd.DataFrame) -> None:
    """Raise Unavailable if device work of the target is missing in steady steps.

    The device's work for the recorded steps must not be divided among all steps.
    """
    target_work = IntervalSet.from_spans(*spans(target_intervals))
    unseen = target_work.measure_within(*spans(steady)) == 0
    if unseen.mean() > _UNSEEN:
        raise Unavailable(
            f"{units.percent(float(unseen.mean()))} of the steady steps have no interval of "
            f"the target: "
            f"the capture does not show all of their work."
        )


def of_a_server(
    steps: pd.DataFrame, requests: pd.DataFrame | None, annotations: pd.DataFrame | None
) -> bool:
    """Return whether a server made the steps: it has requests, prefills prompts, waits for load."""
    if requests is not None and not requests.empty:
        return True
    if annotations is not None and (annotations["name"] == _PREFILL).any():
        return True
    return "variant" in steps and bool((steps["variant"] == IDLE).any())
