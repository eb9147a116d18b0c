"""What a machine's own recordings have shown to work: the outcome of `tracekit doctor --probe`."""

from dataclasses import dataclass
from typing import Literal

FORMAT = 1

Mode = Literal["launch", "attach"]


@dataclass(frozen=True)
class Identity:
    """What a probe's outcome depends on; after a change of any of them it says nothing.

    Builds, not versions: the numbers of Xcode's versions do not rise with time.
    """

    system_build: str = ""
    xcode_build: str = ""
    chip: str = ""


@dataclass(frozen=True)
class Combination:
    """What one way to record gave. None is "not known", never zero."""

    mode: Mode  # whether the recorder started the probe, or attached to it
    counters: bool  # whether GPU counters were asked for
    backend: str = ""  # where the probe's work ran: "metal" or "cpu"; empty where it never began
    rows: int | None = None  # GPU intervals of the probe's own process
    others: int | None = None  # GPU intervals of all other processes
    # GPU dispatches that the probe made while it was recorded, by its own account
    dispatches: int | None = None
    counter_set: str = ""  # the counter set that the recording names; empty for none
    counter_rows: int | None = None  # samples of GPU counters
    # seconds from the end of the recording until its bundle could be opened
    saving: float | None = None
    failure: str = ""  # why there is no whole recording; empty if there is one
    warnings: tuple[str, ...] = ()  # what the recorder and the readers had to say

    @property
    def name(self) -> str:
        """How people call it."""
        return f"{self.mode}, {'with' if self.counters else 'without'} counters"

    @property
    def works(self) -> bool:
        """Tell whether the target's work was recorded, and its counters if they were wanted."""
        if self.failure or not self.rows:
            return False
        return bool(self.counter_rows) if self.counters else True


@dataclass(frozen=True)
class Capabilities:
    """The capability matrix of one machine: what each way to record gave, and when."""

    identity: Identity
    probed: str
    combinations: tuple[Combination, ...] = ()
    format: int = FORMAT
