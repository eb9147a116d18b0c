"""Who held each device up, moment by moment, by what threads and devices really did.

It is read backwards from the next commit. The thread that made it went on, at the latest, when a
report came that it had blocked for. Since then the time is the thread's: it computed, compiled or
paused. While it was blocked, the time is that of the command buffer that it waited for: on its way
to a device, on another device, or on its way back. Before, while the thread did something and that
command buffer was under way, both held the device up, and both are right. A job that a thread had
blocked for is another thread's, and then that one decides.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from schedules.machine import Buffer, Doing, Machine, State

WORKS, WITHIN, THERE, BACK = "works", "within-buffer", "way-there", "way-back"
OTHER, COMPILE, PAUSE, HOST = "other-device", "compile", "pause", "host"

_OF_THREADS = {Doing.COMPILE: COMPILE, Doing.PAUSE: PAUSE}


@dataclass(frozen=True)
class Moment:
    """A stretch of time of one device: from `start` to `end` it was held up by `party`.

    `both` is another one that held it up as well; "" where there is none.
    """

    start: int
    end: int
    party: str
    both: str = ""


@dataclass(eq=False)
class Truth:
    """What was true of a machine that has run."""

    machine: Machine

    @cached_property
    def _bounds(self) -> list[int]:
        times = {time for states in self.machine.states for one in states for time in _ends(one)}
        for buffer in self.machine.buffers:
            times |= {buffer.committed, buffer.reported}
            times |= {time for piece in buffer.pieces for time in piece}
        return sorted(times)

    @cached_property
    def _starts(self) -> list[list[int]]:
        return [[state.start for state in states] for states in self.machine.states]

    def moments(self, device: int) -> list[Moment]:
        """Return all moments of a device, from the first thing that happened to the last."""
        buffers = [one for one in self.machine.buffers if one.device == device]
        started = [one.started for one in buffers]
        found: list[Moment] = []
        for start, end in zip(self._bounds[:-1], self._bounds[1:], strict=True):
            party, both = self._party(buffers, bisect_right(started, start), start)
            again = bool(found) and (found[-1].party, found[-1].both) == (party, both)
            since = found.pop().start if again else start
            found.append(Moment(since, end, party, both))
        return found

    def _party(self, buffers: list[Buffer], begun: int, at: int) -> tuple[str, str]:
        if begun and at < buffers[begun - 1].ended:
            runs = any(start <= at < end for start, end in buffers[begun - 1].pieces)
            return (WORKS if runs else WITHIN), ""
        following = buffers[begun] if begun < len(buffers) else None
        if following is not None and following.committed <= at:
            return THERE, ""
        if following is None:
            return self._before(buffers[-1].thread, self._bounds[-1], at)
        return self._before(following.thread, following.committed, at)

    @cached_property
    def _blocked(self) -> list[list[State]]:
        return [
            [one for one in states if one.buffer is not None or one.doing is Doing.TAKE]
            for states in self.machine.states
        ]

    @cached_property
    def _ended(self) -> list[int]:
        return [states[-1].end for states in self.machine.states]

    @cached_property
    def _unblocked(self) -> list[list[int]]:
        return [[state.end for state in states] for states in self._blocked]

    def _before(self, thread: int, event: int, at: int) -> tuple[str, str]:
        """Return what `event` of a thread waited for at a moment before it."""
        place = bisect_right(self._unblocked[thread], event) - 1
        blocked = self._blocked[thread][place] if place >= 0 else None
        if self._ended[thread] <= at < event:
            return PAUSE, HOST  # it is no more, and asks for nothing
        if blocked is None or at >= blocked.end:
            return self._of_thread(thread, at), ""
        buffer = blocked.buffer
        if buffer is None:
            return self._before(blocked.thread, blocked.end, at)
        if at < buffer.committed:
            return self._before(buffer.thread, buffer.committed, at)
        both = "" if at >= blocked.start else self._of_thread(thread, at)
        if at < buffer.started:
            return THERE, both
        return (OTHER if at < buffer.ended else BACK), both

    def _of_thread(self, thread: int, at: int) -> str:
        place = bisect_right(self._starts[thread], at) - 1
        state = self.machine.states[thread][place] if place >= 0 else None
        if state is None or at >= state.end:
            return HOST
        return _OF_THREADS.get(state.doing, HOST)


def _ends(state: State) -> tuple[int, int]:
    return state.start, state.end
