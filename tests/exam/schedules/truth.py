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

    `other_party` is another one that held it up as well; "" where there is none.
    """

    start: int
    end: int
    party: str
    other_party: str = ""


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
        buffers = [buffer for buffer in self.machine.buffers if buffer.device == device]
        started = [buffer.device_start for buffer in buffers]
        device_moments: list[Moment] = []
        for start, end in zip(self._bounds[:-1], self._bounds[1:], strict=True):
            party, other_party = self._party(buffers, bisect_right(started, start), start)
            again = bool(device_moments) and (
                device_moments[-1].party,
                device_moments[-1].other_party,
            ) == (party, other_party)
            since = device_moments.pop().start if again else start
            device_moments.append(Moment(since, end, party, other_party))
        return device_moments

    def _party(self, buffers: list[Buffer], started_count: int, time: int) -> tuple[str, str]:
        if started_count and time < buffers[started_count - 1].device_end:
            runs = any(start <= time < end for start, end in buffers[started_count - 1].pieces)
            return (WORKS if runs else WITHIN), ""
        following = buffers[started_count] if started_count < len(buffers) else None
        if following is not None and following.committed <= time:
            return THERE, ""
        if following is None:
            return self._find_party_before(buffers[-1].thread, self._bounds[-1], time)
        return self._find_party_before(following.thread, following.committed, time)

    @cached_property
    def _blocked_states(self) -> list[list[State]]:
        return [
            [one for one in states if one.buffer is not None or one.doing is Doing.TAKE]
            for states in self.machine.states
        ]

    @cached_property
    def _thread_ends(self) -> list[int]:
        return [states[-1].end for states in self.machine.states]

    @cached_property
    def _blocked_ends(self) -> list[list[int]]:
        return [[state.end for state in states] for states in self._blocked_states]

    def _find_party_before(self, thread: int, event: int, time: int) -> tuple[str, str]:
        """Return what `event` of a thread waited for at a moment before it."""
        place = bisect_right(self._blocked_ends[thread], event) - 1
        blocked = self._blocked_states[thread][place] if place >= 0 else None
        if self._thread_ends[thread] <= time < event:
            return PAUSE, HOST  # it is no more, and asks for nothing
        if blocked is None or time >= blocked.end:
            return self._of_thread(thread, time), ""
        buffer = blocked.buffer
        if buffer is None:
            return self._find_party_before(blocked.thread, blocked.end, time)
        if time < buffer.committed:
            return self._find_party_before(buffer.thread, buffer.committed, time)
        other_party = "" if time >= blocked.start else self._of_thread(thread, time)
        if time < buffer.device_start:
            return THERE, other_party
        return (OTHER if time < buffer.device_end else BACK), other_party

    def _of_thread(self, thread: int, time: int) -> str:
        place = bisect_right(self._starts[thread], time) - 1
        state = self.machine.states[thread][place] if place >= 0 else None
        if state is None or time >= state.end:
            return HOST
        return _OF_THREADS.get(state.doing, HOST)


def _ends(state: State) -> tuple[int, int]:
    return state.start, state.end
