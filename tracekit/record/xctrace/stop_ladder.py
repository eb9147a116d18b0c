"""How long each state of a recording may last, and what is done when it lasts longer."""

import signal
from dataclasses import dataclass

from tracekit.record.xctrace.progress_lines import Account, State

# SIGINT stops and saves. SIGTERM is ignored while recording, yet ends some hung recorders.
RUNGS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class Deadlines:
    """How long to wait, in seconds; people have seen each of them needed.

    Attributes:
        start: From the launch until it records.
        slack: Beyond the time limit, which xctrace may ignore.
        stopping: From its stop line until it saves.
        saving: Until it is saved, counted anew whenever the bundle or its staging files grow.
        finished: From the end of what there is to record until it stops by itself.
        exit: From "saved" to the end of the process.
        rungs: After each signal of the ladder, until the next one.
        poll: Between two looks at the process.
        survey: Between two looks at sizes and at child processes.
    """

    start: float = 45
    slack: float = 20
    stopping: float = 60
    saving: float = 300
    finished: float = 3
    exit: float = 60
    rungs: tuple[float, float, float, float] = (120, 60, 10, 5)
    poll: float = 0.1
    survey: float = 1

    @property
    def unheard(self) -> tuple[tuple[int, float], ...]:
        """The ladder for someone who does not hear the recorder: saving has its full time."""
        waits = (max(self.rungs[0], self.saving), *self.rungs[1:])
        return tuple((int(number), wait) for number, wait in zip(RUNGS, waits, strict=True))

    def allowance(self, account: Account, time_limit: float) -> float:
        """Return how long the state of `account` may last."""
        match account.state:
            case State.LAUNCHED | State.ANNOUNCED:
                return self.start
            case State.STARTED:
                unheard = self.stopping + self.saving if account.foreign else 0
                return time_limit + self.slack + unheard
            case State.STOPPING:
                return self.stopping
            case State.SAVING:
                return self.saving
            case State.SAVED | State.EXITED:
                return self.exit


class StopLadder:
    """Decides when to send which signal; the times are handed in, so nothing here waits."""

    def __init__(self, deadlines: Deadlines, time_limit: float, now: float) -> None:
        self._deadlines = deadlines
        self._time_limit = time_limit
        self._state = State.LAUNCHED
        self._until = now + deadlines.start
        self.sent: tuple[signal.Signals, ...] = ()
        self.finished = False

    def hear(self, account: Account, now: float) -> None:
        """Give a state that was just reached its own time."""
        if account.state is self._state:
            return
        starting = {self._state, account.state} <= {State.LAUNCHED, State.ANNOUNCED}
        self._state = account.state
        if not starting:
            self._until = now + self._deadlines.allowance(account, self._time_limit)

    def grow(self, now: float) -> None:
        """Give more time to a recording that is being saved and still grows."""
        if self._state is State.SAVING:
            self._until = max(self._until, now + self._deadlines.saving)

    def finish(self, now: float) -> None:
        """Let a recording whose target has nothing left to record soon be asked to stop."""
        if not self.finished and not self.sent:
            self._until = min(self._until, now + self._deadlines.finished)
        self.finished = True

    def due(self, now: float) -> signal.Signals | None:
        """Return the signal to send now, or None while there is time."""
        return self.climb(now) if now >= self._until else None

    def climb(self, now: float) -> signal.Signals | None:
        """Return the next signal, or None where all were sent."""
        if self.exhausted:
            return None
        rung = len(self.sent)
        self.sent = RUNGS[: rung + 1]
        self._until = now + self._deadlines.rungs[rung]
        return RUNGS[rung]

    @property
    def exhausted(self) -> bool:
        """Tell whether the last signal, which nothing can ignore, was sent."""
        return self.sent == RUNGS

    def hopeless(self, now: float) -> bool:
        """Tell whether even the last signal did not help in its time."""
        return self.exhausted and now >= self._until
