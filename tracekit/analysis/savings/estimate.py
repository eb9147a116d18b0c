"""The saving of a lever: a replay of the recording's schedule with the lever pulled, or several."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

from tracekit.analysis.rule import Fact
from tracekit.analysis.savings.levers import (
    Lever,
    batch_rounds,
    drop_boundaries,
    inner_waits,
    join_encoders,
    keep_in_flight,
    merge_buffers,
    scale_host,
    start_promptly,
    wait_once,
)
from tracekit.analysis.savings.replay import Bottleneck, replay
from tracekit.analysis.savings.schedule import Readings, Schedule

MOST_OF_IT = 0.9
"""The share of the possible saving that counts as enough."""
IN_FLIGHT = (2, 3)
"""The numbers of iterations that programs keep in flight: two or three buffers in turns. More need
more memory and delay the results."""
TOGETHER = 10
"""The number of iterations behind one wait that saves nine tenths of the ways there and back."""
_HALF = 0.5


@dataclass(frozen=True)
class Prospect:
    """The saving of a lever in the loop, in ns: by the likeliest reading, at least and at most.

    `pulled` is the name of the lever. `number` is the number of iterations that it puts in flight
    or together, 0 if it does neither. `limit` is the bottleneck of the loop afterwards.
    """

    pulled: str
    saving: int
    least_saving: int
    most_saving: int
    limit: Bottleneck
    number: int = 0

    def at_most(self, time: int) -> "Prospect":
        """Return the same prospect with no saving above this time, in ns."""
        saving = min(self.saving, time)
        least_saving = min(self.least_saving, time)
        most_saving = min(self.most_saving, time)
        return replace(
            self,
            saving=saving,
            least_saving=least_saving,
            most_saving=most_saving,
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that a finding states about it."""
        return (
            Fact("pulled", self.pulled),
            Fact("pulled_number", self.number),
            Fact("saving_least", self.least_saving, "ns"),
            Fact("saving_most", self.most_saving, "ns"),
            Fact("limit", str(self.limit)),
        )


def prospect(
    pulled: str, readings: Readings, *levers: Lever, sure: bool = True, number: int = 0
) -> Prospect:
    """Return the saving of a lever, by all readings and all ways to pull it.

    The first of each is the likeliest. A lever that is not `sure` to be possible may win nothing.
    """
    savings: list[int] = []
    limits: list[Bottleneck] = []
    for lever in levers:
        for schedule in readings.schedules:
            saving, limit = _won(schedule, lever, readings)
            savings.append(saving)
            limits.append(limit)
    least_saving = min(savings) if sure else 0
    return Prospect(
        pulled,
        saving=savings[0],
        least_saving=least_saving,
        most_saving=max(savings),
        limit=limits[0],
        number=number,
    )


def without_replay(pulled: str, time: int) -> Prospect:
    """Return the saving of a lever without a known schedule: at most the time that it is about."""
    return Prospect(pulled, time, 0, time, Bottleneck.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Savings:
    """The saving of each lever in the loop of a recording."""

    readings: Readings

    @cached_property
    def one_wait(self) -> Prospect:
        """Wait once an iteration instead of several times."""
        return prospect("one-wait", self.readings, wait_once)

    @cached_property
    def in_flight(self) -> Prospect:
        """Keep two iterations in flight, or three if two win less than nine tenths of that.

        It wins nothing if an iteration needs the last one's result, which no trace shows.
        """
        fewer, more = IN_FLIGHT
        prospect_of_fewer = self._keep_in_flight(fewer)
        prospect_of_more = self._keep_in_flight(more)
        if prospect_of_fewer.saving >= MOST_OF_IT * prospect_of_more.saving:
            return prospect_of_fewer
        return prospect_of_more

    def _keep_in_flight(self, number: int) -> Prospect:
        lever = partial(keep_in_flight, more=number - 1)
        return prospect("in-flight", self._waiting_once, lever, sure=False, number=number)

    @cached_property
    def batch(self) -> Prospect:
        """Put ten iterations into one command buffer and wait once for them."""
        without_wake = partial(batch_rounds, number=TOGETHER, wake=False)
        with_wake = partial(batch_rounds, number=TOGETHER, wake=True)
        readings = self._waiting_once
        return prospect("batch", readings, without_wake, with_wake, number=TOGETHER)

    @cached_property
    def hiding(self) -> int | None:
        """How many in flight keep the device at work during the ways of one; None without work.

        That is one, and as many as the device completes in the time of the ways there and back.
        """
        full_replay = replay(self._waiting_once.schedules[0])
        if not full_replay.device:
            return None
        ways = max(0, full_replay.length - full_replay.host - full_replay.device)
        return 1 + round(ways / full_replay.device)

    @property
    def in_batches(self) -> bool:
        """Whether the ways are too long for the iterations that programs keep in flight."""
        return self.hiding is None or self.hiding > IN_FLIGHT[-1]

    @property
    def is_by_round_trips(self) -> bool:
        """Whether a batch is the lever, and wins at least half as much as the host's work does."""
        return self.in_batches and self.batch.saving >= _HALF * self.host.most_saving

    @property
    def round_trips(self) -> Prospect:
        """The lever on round trips: a few in flight if they hide the ways, else a batch."""
        if self.in_batches:
            return self.batch
        return self.in_flight

    @cached_property
    def host(self) -> Prospect:
        """Halve the host's work; at most, leave none of it."""
        without_wake = partial(scale_host, share=_HALF, wake=False)
        with_wake = partial(scale_host, share=_HALF, wake=True)
        half_host = prospect("host", self.readings, without_wake, with_wake)
        without_host = prospect("host", self.readings, partial(scale_host, share=0.0))
        return replace(half_host, most_saving=without_host.most_saving)

    @cached_property
    def boundaries(self) -> Prospect:
        """Leave no gap between command buffers; at least, make one of two, or one for each wait."""
        return prospect("boundaries", self.readings, drop_boundaries, merge_buffers)

    @cached_property
    def late_starts(self) -> Prospect:
        """Let late command buffers start as the others do."""
        return prospect("late-starts", self.readings, start_promptly)

    @cached_property
    def encoders(self) -> Prospect:
        """Leave no gap between the encoders of a command buffer."""
        return prospect("encoders", self.readings, join_encoders)

    @cached_property
    def all_levers(self) -> Prospect:
        """Pull all levers, and halve the host's work; on round trips, the lever that wins more.

        At least and at most any of them.
        """
        deepest_lever = partial(keep_in_flight, more=IN_FLIGHT[-1] - 1)
        in_flight = self._pull_all(deepest_lever)
        batch = self._pull_all(partial(batch_rounds, number=TOGETHER))
        batch_with_wake = self._pull_all(partial(batch_rounds, number=TOGETHER, wake=True))
        prospects = (in_flight, batch, batch_with_wake)
        best = batch if batch.saving > in_flight.saving else in_flight
        return replace(
            best,
            least_saving=min(outcome.least_saving for outcome in prospects),
            most_saving=max(outcome.most_saving for outcome in prospects),
        )

    def _pull_all(self, lever_on_round_trips: Lever) -> Prospect:
        lever = _in_a_row(_promptly, lever_on_round_trips)
        return prospect("together", self.readings, lever)

    @cached_property
    def _waiting_once(self) -> Readings:
        """The readings with one wait an iteration, if there are several."""
        readings = self.readings
        if not any(map(inner_waits, readings.schedules)):
            return readings
        schedules = tuple(map(wait_once, readings.schedules))
        remaining_load = readings.load - self.one_wait.saving
        return replace(readings, schedules=schedules, load=remaining_load)


def savings_of(schedules: Readings) -> Savings:
    """Return the saving of each lever; each is replayed on first use."""
    return Savings(schedules)


def _promptly(schedule: Schedule) -> Schedule:
    prompt = join_encoders(start_promptly(drop_boundaries(wait_once(schedule))))
    return scale_host(prompt, _HALF, wake=False)


def _in_a_row(first_lever: Lever, second: Lever) -> Lever:
    return lambda schedule: second(first_lever(schedule))


def _won(schedule: Schedule, lever: Lever, readings: Readings) -> tuple[int, Bottleneck]:
    """Return the saving of a lever under load, in ns, and the bottleneck of the rest."""
    length_before = replay(schedule).length
    replay_after = replay(lever(schedule))
    saving = max(0, length_before - replay_after.length)
    if readings.sample:
        saving = round(saving * readings.load / max(1, length_before))
    return min(saving, readings.load), replay_after.limit
