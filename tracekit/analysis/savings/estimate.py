"""What a lever wins: a replay of the recording's schedule with the lever pulled, or several."""

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
"""The part of what is possible that counts as enough."""
IN_FLIGHT = (2, 3)
"""So many iterations programs keep in flight: two or three buffers in turns. More need more memory,
and later results."""
TOGETHER = 10
"""So many iterations behind one wait save nine tenths of the ways there and back."""
_HALF = 0.5


@dataclass(frozen=True)
class Prospect:
    """What a lever wins in the loop, in ns: by the likeliest reading, at least and at most.

    `pulled` is the name of the lever, `number` how many iterations it puts in flight or together,
    0 where it does neither. `limit` is what bounds the loop afterwards.
    """

    pulled: str
    saving: int
    least_saving: int
    most_saving: int
    limit: Bottleneck
    number: int = 0

    def at_most(self, time: int) -> "Prospect":
        """Return the same where no more than this can be won, in ns."""
        saving, least_saving, most_saving = (
            min(amount, time) for amount in (self.saving, self.least_saving, self.most_saving)
        )
        return replace(self, saving=saving, least_saving=least_saving, most_saving=most_saving)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What a finding states of it."""
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
    """Return what a lever wins, by all readings and all ways to pull it.

    The first of each is the likeliest. What is not `sure` to be possible may win nothing.
    """
    outcomes = [
        _won(schedule, lever, readings) for lever in levers for schedule in readings.schedules
    ]
    savings = [saving for saving, _ in outcomes]
    saving, limit = outcomes[0]
    return Prospect(pulled, saving, min(savings) if sure else 0, max(savings), limit, number)


def without_replay(pulled: str, time: int) -> Prospect:
    """Return what a lever wins where no schedule is known: at most the time that it is about."""
    return Prospect(pulled, time, 0, time, Bottleneck.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Savings:
    """What each lever wins in the loop of a recording."""

    readings: Readings

    @cached_property
    def one_wait(self) -> Prospect:
        """Wait once an iteration instead of several times."""
        return prospect("one-wait", self.readings, wait_once)

    @cached_property
    def in_flight(self) -> Prospect:
        """Keep two iterations in flight, or three where that wins a tenth more of what is possible.

        It wins nothing where an iteration needs the last one's result, which no trace tells.
        """
        prospects = [
            prospect(
                "in-flight",
                self._waiting_once,
                partial(keep_in_flight, more=number - 1),
                sure=False,
                number=number,
            )
            for number in IN_FLIGHT
        ]
        fewer_in_flight, many = prospects
        return fewer_in_flight if fewer_in_flight.saving >= MOST_OF_IT * many.saving else many

    @cached_property
    def batch(self) -> Prospect:
        """Put ten iterations into one command buffer and wait once for them."""
        ways = [partial(batch_rounds, number=TOGETHER, wake=wake) for wake in (False, True)]
        return prospect("batch", self._waiting_once, *ways, number=TOGETHER)

    @cached_property
    def hiding(self) -> int | None:
        """How many in flight keep the device at work during the ways of one; None without work.

        That is one, and as many as do the device's work in the time of the ways there and back.
        """
        full_replay = replay(self._waiting_once.schedules[0])
        ways = max(0, full_replay.length - full_replay.host - full_replay.device)
        return 1 + round(ways / full_replay.device) if full_replay.device else None

    @property
    def in_batches(self) -> bool:
        """Whether the ways are too long to be hidden by as many in flight as programs keep."""
        return self.hiding is None or self.hiding > IN_FLIGHT[-1]

    @property
    def is_by_round_trips(self) -> bool:
        """Whether a batch is the lever, and wins more than half of the host's work does."""
        return self.in_batches and self.batch.saving >= _HALF * self.host.most_saving

    @property
    def round_trips(self) -> Prospect:
        """The lever on round trips: few in flight where they hide the ways, else a batch."""
        return self.batch if self.in_batches else self.in_flight

    @cached_property
    def host(self) -> Prospect:
        """Halve the host's work, or leave none of it, which is the most."""
        ways = [partial(scale_host, share=_HALF, wake=wake) for wake in (False, True)]
        without_host = prospect("host", self.readings, partial(scale_host, share=0.0))
        return replace(prospect("host", self.readings, *ways), most_saving=without_host.most_saving)

    @cached_property
    def boundaries(self) -> Prospect:
        """Leave no gap between command buffers; at least, make one of two, or one for each wait."""
        return prospect("boundaries", self.readings, drop_boundaries, merge_buffers)

    @cached_property
    def late_starts(self) -> Prospect:
        """Let what starts late start as the others do."""
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
        ways: list[Lever] = [
            partial(keep_in_flight, more=IN_FLIGHT[-1] - 1),
            partial(batch_rounds, number=TOGETHER),
            partial(batch_rounds, number=TOGETHER, wake=True),
        ]
        prospects = [prospect("together", self.readings, _in_a_row(_promptly, way)) for way in ways]
        best = max(prospects[:2], key=lambda outcome: outcome.saving)
        least_saving, most_saving = (
            min(outcome.least_saving for outcome in prospects),
            max(outcome.most_saving for outcome in prospects),
        )
        return replace(best, least_saving=least_saving, most_saving=most_saving)

    @cached_property
    def _waiting_once(self) -> Readings:
        """The readings after one wait an iteration, where there are several."""
        if not any(inner_waits(schedule) for schedule in self.readings.schedules):
            return self.readings
        schedules = tuple(wait_once(schedule) for schedule in self.readings.schedules)
        return replace(
            self.readings, schedules=schedules, load=self.readings.load - self.one_wait.saving
        )


def savings_of(schedules: Readings) -> Savings:
    """Return what each lever wins; nothing is replayed before it is asked for."""
    return Savings(schedules)


def _promptly(schedule: Schedule) -> Schedule:
    prompt = join_encoders(start_promptly(drop_boundaries(wait_once(schedule))))
    return scale_host(prompt, _HALF, wake=False)


def _in_a_row(first_lever: Lever, second: Lever) -> Lever:
    return lambda schedule: second(first_lever(schedule))


def _won(schedule: Schedule, lever: Lever, readings: Readings) -> tuple[int, Bottleneck]:
    """Return what a lever wins of the load, in ns, and what bounds the rest."""
    length_before, replay_after = replay(schedule).length, replay(lever(schedule))
    saving = max(0, length_before - replay_after.length)
    if readings.sample:
        saving = round(saving * readings.load / max(1, length_before))
    return min(saving, readings.load), replay_after.limit
