"""What a lever wins: a replay of the recording's schedule with the lever pulled, or several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracekit.analysis.savings.levers import Lever
from tracekit.analysis.savings.replay import Limit, Replay, replay
from tracekit.analysis.savings.schedule import Readings, Schedule

MOST_OF_IT = 0.9
"""The part of what is possible that counts as enough."""
_NUMBERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Prospect:
    """What a lever wins in the loop, in ns: at least, at most, and by the likeliest reading.

    `number` is how many iterations it puts in flight or together, 0 where it does neither. `limit`
    is what bounds the loop afterwards, and `length` what remains of the loop.
    """

    saving: int
    least: int
    most: int
    limit: Limit
    number: int = 0


def prospect(readings: Readings, *levers: Lever, sure: bool = True, number: int = 0) -> Prospect:
    """Return what a lever wins, by all readings and all ways to pull it.

    The first of each is the likeliest. What is not `sure` to be possible may win nothing.
    """
    outcomes = [
        _won(schedule, lever, readings.load) for lever in levers for schedule in readings.schedules
    ]
    savings = [saving for saving, _ in outcomes]
    saving, limit = outcomes[0]
    least = min(savings) if sure else 0
    return Prospect(saving, least, max(savings), limit, number)


def smallest(
    readings: Readings, lever: Callable[[Schedule, int], Schedule], best: Lever
) -> int | None:
    """Return the smallest number with which a lever wins nine tenths of what the best one does.

    None where no number up to 64 does.
    """
    likeliest = readings.schedules[0]
    wanted = MOST_OF_IT * _won(likeliest, best, readings.load)[0]
    for number in _NUMBERS:
        saving, _ = _won(likeliest, lambda schedule, n=number: lever(schedule, n), readings.load)
        if saving >= wanted:
            return number
    return None


def _won(schedule: Schedule, lever: Lever, load: int) -> tuple[int, Limit]:
    """Return what a lever wins of the load, in ns, and what bounds the rest."""
    stretches = list(schedule.stretches())
    before = _sum([replay(each) for each in stretches])
    after = _sum([replay(lever(each)) for each in stretches])
    share = 1 - after.length / max(1, before.length)
    return max(0, round(share * load)), after.limit


def _sum(replays: Sequence[Replay]) -> Replay:
    columns = zip(*((each.length, each.host, each.device) for each in replays), strict=True)
    return Replay(*(sum(column) for column in columns))
