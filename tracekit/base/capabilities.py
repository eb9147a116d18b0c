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
    """What one way to record gave. None is "not known", never zero.

    Attributes:
        mode: Whether the recorder started the probe, or attached to it.
        counters: Whether GPU counters were asked for.
        backend: Where the probe's work ran: "metal" or "cpu"; empty where it never began.
        rows: GPU intervals of the probe's own process.
        others: GPU intervals of all other processes.
        dispatches: GPU dispatches that the probe made while it was recorded, by its own account.
        counter_set: The counter set that the recording names; empty for none.
        counter_rows: Samples of GPU counters.
        saving: Seconds from the end of the recording until its bundle could be opened.
        failure: Why there is no whole recording; empty if there is one.
        warnings: What the recorder and the readers had to say.
    """

    mode: Mode
    counters: bool
    backend: str = ""
    rows: int | None = None
    others: int | None = None
    dispatches: int | None = None
    counter_set: str = ""
    counter_rows: int | None = None
    saving: float | None = None
    failure: str = ""
    warnings: tuple[str, ...] = ()

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
