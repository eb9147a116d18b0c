"""The recordings that work on a machine, by a test: the outcome of `tracekit doctor --probe`."""

from dataclasses import dataclass
from typing import Literal

FORMAT = 1

Mode = Literal["launch", "attach"]


@dataclass(frozen=True)
class Identity:
    """The system that a probe's outcome depends on; after any change the outcome is void.

    Builds, not versions: the numbers of Xcode's versions do not rise with time.
    """

    system_build: str = ""
    xcode_build: str = ""
    chip: str = ""


@dataclass(frozen=True)
class Combination:
    """The outcome of one way to record. None is "not known", never zero."""

    mode: Mode  # whether the recorder started the probe, or attached to it
    counters: bool  # whether GPU counters were asked for
    backend: str = ""  # backend of the probe's work: "metal" or "cpu"; empty if it never began
    rows: int | None = None  # GPU intervals of the probe's own process
    others: int | None = None  # GPU intervals of all other processes
    # GPU dispatches that the probe made while it was recorded, by its own account
    dispatches: int | None = None
    counter_set: str = ""  # the counter set that the recording names; empty for none
    counter_rows: int | None = None  # samples of GPU counters
    # seconds from the end of the recording until its bundle could be opened
    saving: float | None = None
    failure: str = ""  # why the recording is not whole; empty if it is
    warnings: tuple[str, ...] = ()  # of the recorder and the readers

    @property
    def name(self) -> str:
        """Its name for people."""
        if self.counters:
            return f"{self.mode}, with counters"
        return f"{self.mode}, without counters"

    @property
    def works(self) -> bool:
        """Whether the target's work was recorded, and its counters if they were wanted."""
        if self.failure or not self.rows:
            return False
        return not self.counters or bool(self.counter_rows)


@dataclass(frozen=True)
class Capabilities:
    """The capability matrix of one machine: the outcome of each way to record, and the time."""

    identity: Identity
    probed: str
    combinations: tuple[Combination, ...] = ()
    format: int = FORMAT
