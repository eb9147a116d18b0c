"""The same programs once more, with a lever pulled: the same work, handed over in another way.

Each command buffer has the work and the encoding that it had, and each thread computes for as long;
what a lever changes is whom the threads wait for, and what goes into a command buffer. Nothing here
knows the analysis.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

from schedules.machine import (
    Action,
    Box,
    Buffer,
    Commit,
    Doing,
    Encode,
    Machine,
    Post,
    Spend,
    Take,
    Thread,
    Wait,
)
from schedules.programs import Log, Program

Change = Callable[[Log], Log]
"""What a lever makes of what a thread did."""


@dataclass(eq=False)
class _Copies:
    """Command buffers and boxes that have not been used, one for each that was."""

    copies_by_id: dict[int, Buffer | Box] = field(default_factory=dict[int, Buffer | Box])

    def buffer(self, old: Buffer) -> Buffer:
        if id(old) not in self.copies_by_id:
            predecessor = None if old.predecessor is None else self.buffer(old.predecessor)
            self.copies_by_id[id(old)] = Buffer(old.device, list(old.works), old.pause, predecessor)
        new = self.copies_by_id[id(old)]
        assert isinstance(new, Buffer)
        return new

    def box(self, old: Box) -> Box:
        new = self.copies_by_id.setdefault(id(old), Box())
        assert isinstance(new, Box)
        return new

    def action(self, old: Action) -> Action:
        if isinstance(old, Encode | Commit | Wait):
            return replace(old, buffer=self.buffer(old.buffer))
        if isinstance(old, Post | Take):
            return replace(old, box=self.box(old.box))
        return old


def _replay_log(log: Log, copies: _Copies) -> Thread:
    for action in log:
        yield copies.action(action)


def again(program: Program, change: Change = list, **pace: int) -> Machine:
    """Run a program once more, with what it did and the pace of its machine changed."""
    old = program.machine
    machine = Machine(replace(old.pace, **pace), deepcopy(program.chance), old.devices)
    copies = _Copies()
    machine.run([_replay_log(change(log), copies) for log in program.logs])
    return machine


def busy_span(machine: Machine) -> int:
    """Return how long a machine ran in which somebody asked for work; ns."""
    begin = min(states[0].start for states in machine.states if states)
    end = max(buffer.reported for buffer in machine.buffers)
    pauses = sum(
        max(0, min(state.end, end) - state.start)
        for states in machine.states
        for state in states
        if state.doing is Doing.PAUSE
    )
    return end - begin - pauses


def share_won(program: Program, change: Change = list, **pace: int) -> float:
    """Return the share of a program's time that a lever wins; below 0 where it loses some."""
    original_span = busy_span(program.machine)
    return 1 - busy_span(again(program, change, **pace)) / original_span


def in_flight(more: int, waits: int = 1) -> Change:
    """Wait for what the wait of so many iterations before was for, of so many waits each."""

    def change(log: Log) -> Log:
        places = [place for place, action in enumerate(log) if isinstance(action, Wait)]
        new = list(log)
        for number, place in enumerate(places):
            earlier_wait = number - more * waits
            new[place] = log[places[earlier_wait]] if earlier_wait >= 0 else Spend(Doing.COMPUTE, 0)
        return new

    return change


def one_wait(stride: int) -> Change:
    """Leave out all waits but the last of each row of so many."""

    def change(log: Log) -> Log:
        waits = [action for action in log if isinstance(action, Wait)]
        kept_ids = {id(wait) for wait in waits[stride - 1 :: stride]} | {id(waits[-1])}
        return [action for action in log if not isinstance(action, Wait) or id(action) in kept_ids]

    return change


def batch(buffers: int) -> Change:
    """Make one command buffer of so many in a row; wait for it only behind it."""

    def change(log: Log) -> Log:
        rows = [action.buffer for action in log if isinstance(action, Commit)]
        merged_buffers: dict[int, Buffer] = {}
        lasts: set[int] = set()
        for row_start in range(0, len(rows), buffers):
            row = rows[row_start : row_start + buffers]
            works = [work for buffer in row for work in buffer.works]
            if all(len(buffer.works) == 1 for buffer in row):
                works = [sum(works)]
            merged = Buffer(row[0].device, works, row[0].pause)
            merged_buffers |= {id(buffer): merged for buffer in row}
            lasts.add(id(row[-1]))
        new: Log = []
        for action in log:
            if isinstance(action, Encode):
                new.append(replace(action, buffer=merged_buffers[id(action.buffer)]))
            elif not isinstance(action, Commit | Wait):
                new.append(action)
            elif id(action.buffer) in lasts:
                new.append(replace(action, buffer=merged_buffers[id(action.buffer)]))
        return new

    return change


def host(share: float) -> Change:
    """Compute and encode for a share of the time."""

    def change(log: Log) -> Log:
        return [_shorter(action, share) for action in log]

    return change


def _shorter(action: Action, share: float) -> Action:
    if isinstance(action, Encode):
        return replace(action, time=round(action.time * share))
    if isinstance(action, Spend) and action.doing is Doing.COMPUTE:
        return replace(action, time=round(action.time * share))
    return action


def without_pauses(log: Log) -> Log:
    """Let command buffers have no pauses between their parts."""
    unpaused_buffers = {
        id(action.buffer): Buffer(action.buffer.device, action.buffer.works)
        for action in log
        if isinstance(action, Commit)
    }
    return [
        replace(action, buffer=unpaused_buffers[id(action.buffer)])
        if isinstance(action, Encode | Commit | Wait)
        else action
        for action in log
    ]
