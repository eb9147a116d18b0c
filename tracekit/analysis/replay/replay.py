"""The encoders of a serialized replay: their counters, their cost, and the dispatches they ran.

Xcode numbers the calls of a capture. A row of its counters names a dispatch by this number, or an
encoder by the number of one of its calls. Which call that is was seen in one capture only, so the
rows of a capture and its dispatches are joined only if the threads of both agree.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from operator import attrgetter
from typing import Any

import pandas as pd

from tracekit.analysis.counters import CounterKind, Group, Load, meaning
from tracekit.analysis.dispatches import RecordedDispatch
from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.replay.table import COST, GPU_TIME, is_timed
from tracekit.analysis.rule import Fact
from tracekit.base import units

INVOCATIONS = "Kernel Invocations"
_NONE_READ = "only Xcode's counters of a GPU frame capture hold it, and none were imported."
_SHOWN = 3


@dataclass(frozen=True)
class ReplayEncoder:
    """A row of Xcode's counters: an encoder, or one function of it.

    `weight` is its share of the replay's cost, or an equal share if no cost is known. `cells` are
    the credible counters, shares as 0 … 1. `dispatches` are those that it ran, if they are known.
    """

    place: int
    function: int
    label: str
    weight: float
    cells: Mapping[str, float]
    dispatches: tuple[RecordedDispatch, ...] = ()

    @property
    def kernels(self) -> str:
        """The functions that it ran, as far as these are known; three at most."""
        return list_kernels(self.dispatches)

    def highest(
        self, kinds: Collection[CounterKind], groups: Collection[Group] = tuple(Group)
    ) -> Load | None:
        """Return the counter of these kinds and groups with the highest share; None without any."""
        loads: list[Load] = []
        for name, value in self.cells.items():
            counter = meaning(name)
            if counter is not None and counter.kind in kinds and counter.group in groups:
                loads.append(Load(name, value, counter.group))
        return max(loads, key=lambda load: load.share, default=None)


@dataclass(frozen=True)
class CaptureReplay:
    """All encoders of a replay, in the order of the capture.

    `cost` is the quantity that the weights share: "execution cost", "GPU time", or "" if neither is
    known. `unjoined` is the reason why dispatches of the imported capture are not assigned.
    """

    encoders: tuple[ReplayEncoder, ...]
    cost: str
    unjoined: str = ""

    @cached_property
    def is_joined(self) -> bool:
        """Whether encoders have their dispatches."""
        return any(map(attrgetter("dispatches"), self.encoders))

    def require(self, counters: Collection[str], description: str) -> None:
        """Raise Unavailable unless an encoder has a credible value of one of the counters."""
        for encoder in self.encoders:
            if encoder.cells.keys() & set(counters):
                return
        raise Unavailable(f"Xcode's counters have no credible value of {description}.")

    def select(self, is_concerned: Callable[[ReplayEncoder], bool]) -> "EncoderGroup":
        """Return the encoders for which a condition holds."""
        return EncoderGroup(tuple(filter(is_concerned, self.encoders)), self)


@dataclass(frozen=True)
class EncoderGroup:
    """Some encoders of a replay."""

    encoders: tuple[ReplayEncoder, ...]
    replay: CaptureReplay

    @property
    def share(self) -> float:
        """Their share of the replay's cost."""
        return sum(map(attrgetter("weight"), self.encoders))

    def mean(self, name: str) -> float | None:
        """Return the mean of a counter, weighted by cost; None if none of them has it."""
        weighted = 0.0
        weight = 0.0
        for encoder in self.encoders:
            if name in encoder.cells:
                weighted += encoder.weight * encoder.cells[name]
                weight += encoder.weight
        if weight == 0:
            return None
        return weighted / weight

    def extremes(self, name: str) -> tuple[float, float]:
        """Return the lowest and the highest value of a counter that one of them has."""
        values = [encoder.cells[name] for encoder in self.encoders if name in encoder.cells]
        return min(values), max(values)

    def highest_load(
        self, kinds: Collection[CounterKind], groups: Collection[Group] = tuple(Group)
    ) -> Load | None:
        """Return the highest counter of these kinds and groups in any of them."""
        loads: list[Load] = []
        for encoder in self.encoders:
            load = encoder.highest(kinds, groups)
            if load is not None:
                loads.append(load)
        return max(loads, key=lambda load: load.share, default=None)

    @property
    def dispatches(self) -> tuple[RecordedDispatch, ...]:
        """The dispatches that they ran, as far as these are known."""
        dispatches: list[RecordedDispatch] = []
        for encoder in self.encoders:
            dispatches += encoder.dispatches
        return tuple(dispatches)

    def facts(self) -> tuple[Fact, ...]:
        """Return their number, share and names as facts, the costliest first."""
        cost = self.replay.cost
        share = self.share if cost else None
        return (
            Fact("encoders", len(self.encoders)),
            Fact("all_encoders", len(self.replay.encoders)),
            Fact("cost_share", share, "ratio"),
            Fact("cost", cost),
            Fact("places", self._list_places()),
            Fact("kernels", list_kernels(self.dispatches)),
        )

    def _list_places(self) -> str:
        ordered = sorted(self.encoders, key=lambda encoder: -encoder.weight)
        words: list[str] = []
        for encoder in ordered[:_SHOWN]:
            text = f"{encoder.place}"
            if self.replay.cost:
                text = f"{text} ({units.percent(encoder.weight)})"
            words.append(text)
        return _enumerate(words, len(ordered) - len(words))


def list_kernels(dispatches: Iterable[RecordedDispatch]) -> str:
    """Return the functions of dispatches in their order, each once, three at most."""
    names = dict.fromkeys(dispatch.function for dispatch in dispatches if dispatch.function)
    words = [*names][:_SHOWN]
    return _enumerate(words, len(names) - len(words))


def _enumerate(words: Sequence[str], more: int) -> str:
    """Return "a, b and 3 more"."""
    text = ", ".join(words)
    if more:
        return f"{text} and {more:,} more"
    return text


def replay_of(
    replay_counters: pd.DataFrame | None, captured: tuple[RecordedDispatch, ...] | None
) -> CaptureReplay:
    """Return the encoders that Xcode's counters describe, with the dispatches of their capture."""
    if replay_counters is None:
        raise NotApplicable(f"the recording has no table replay_counters: {_NONE_READ}")
    sound = replay_counters[replay_counters["suspect"].isna()]
    is_time = sound["counter"] == GPU_TIME
    sound = sound[~is_time | (sound["unit"] == "ns")]
    values: dict[int, dict[str, float]] = {}
    rows: list[Any] = sound.to_dict("records")
    for row in rows:
        values.setdefault(int(row["place"]), {})[str(row["counter"])] = float(row["value"])
    encoders: list[ReplayEncoder] = []
    heads: list[Any] = replay_counters.drop_duplicates("place").to_dict("records")
    weights, cost = _weigh(values, len(heads), timed=is_timed(replay_counters))
    for row in sorted(heads, key=lambda head: int(head["place"])):
        place = int(row["place"])
        encoder = ReplayEncoder(
            place,
            int(row["function"]),
            str(row["encoder"]),
            weights.get(place, 1 / len(heads)),
            values.get(place, {}),
        )
        encoders.append(encoder)
    if captured is None:
        return CaptureReplay(tuple(encoders), cost)
    return _join(encoders, cost, captured)


def _weigh(
    values: Mapping[int, Mapping[str, float]], count: int, *, timed: bool
) -> tuple[Mapping[int, float], str]:
    """Return the share of each encoder, by place, and the name of the cost that is shared.

    There are none unless each of `count` encoders has a cost: shares of some would not be
    comparable to those of the others.
    """
    counter = COST
    words = "execution cost"
    if timed:
        counter = GPU_TIME
        words = "GPU time"
    costs: dict[int, float] = {}
    for place, cells in values.items():
        if counter in cells:
            costs[place] = cells[counter]
    total = sum(costs.values())
    if len(costs) < count or total <= 0 or min(costs.values()) < 0:
        return {}, ""
    for place in costs:
        costs[place] /= total
    return costs, words


def _join(
    encoders: Sequence[ReplayEncoder], cost: str, captured: Sequence[RecordedDispatch]
) -> CaptureReplay:
    """Assign the dispatches of a capture, if the numbers of threads agree."""
    dispatches = _assign(encoders, captured)
    agreements = 0
    for encoder in encoders:
        row_dispatches = dispatches.get(encoder.place, ())
        if not row_dispatches:
            reason = (
                f"row {encoder.place} of the counters is Xcode's call {encoder.function}, and the "
                "capture has no dispatch there."
            )
            return CaptureReplay(tuple(encoders), cost, f"{reason} {_NOT_ASSIGNED}")
        invocations = encoder.cells.get(INVOCATIONS)
        threads = sum(map(prod, map(attrgetter("grid"), row_dispatches)))
        if invocations is None:
            continue
        if invocations != threads:
            reason = (
                f"row {encoder.place} of the counters has {units.count(invocations)} kernel "
                f"invocations, and its dispatches in the capture have {units.count(threads)} "
                "threads."
            )
            return CaptureReplay(tuple(encoders), cost, f"{reason} {_NOT_ASSIGNED}")
        agreements += 1
    if not agreements:
        reason = "no row has kernel invocations that would confirm its dispatches."
        return CaptureReplay(tuple(encoders), cost, f"{reason} {_NOT_ASSIGNED}")

    def add_dispatches(encoder: ReplayEncoder) -> ReplayEncoder:
        return replace(encoder, dispatches=dispatches[encoder.place])

    return CaptureReplay(tuple(map(add_dispatches, encoders)), cost)


_NOT_ASSIGNED = "So counters and dispatches are shown apart."


def _assign(
    encoders: Sequence[ReplayEncoder], captured: Sequence[RecordedDispatch]
) -> dict[int, tuple[RecordedDispatch, ...]]:
    """Return the dispatches of each row by its place, as Xcode's numbers of the calls tell them.

    Rows with a GPU time are functions: their number is that of a dispatch. Other rows may also be
    encoders, whose dispatches are those from their number up to that of the next row; then no
    dispatch is left over.
    """
    by_number: dict[int, RecordedDispatch] = {}
    for dispatch in captured:
        if dispatch.function_index is not None:
            by_number[dispatch.function_index] = dispatch
    functions = [encoder.function for encoder in encoders]
    are_functions = any(GPU_TIME in encoder.cells for encoder in encoders)
    if are_functions or by_number.keys() >= set(functions):
        return {
            encoder.place: (by_number[encoder.function],)
            for encoder in encoders
            if encoder.function in by_number
        }
    if min(by_number, default=0) < functions[0]:
        return {}
    assigned: dict[int, tuple[RecordedDispatch, ...]] = {}
    ends = [*functions[1:], max(by_number, default=0) + 1]
    for encoder, end in zip(encoders, ends, strict=True):
        row_dispatches: list[RecordedDispatch] = []
        for number, dispatch in by_number.items():
            if encoder.function <= number < end:
                row_dispatches.append(dispatch)
        assigned[encoder.place] = tuple(row_dispatches)
    return assigned
