"""The document of a replay: the effect of a dispatch on its outputs, and its comparisons."""

from dataclasses import dataclass
from enum import StrEnum

from tracekit.lab.verification.verify import MovedBytes, ProofVerdict


class ReplayOutcome(StrEnum):
    """Whether the result of a replay is the recorded one."""

    AGREES = "agrees"
    DIFFERS = "differs"
    DEFECT = "defect"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class WrittenArgument:
    """The effect of a replay on an argument, in numbers of elements.

    `dependent` elements are written, and depend on what the buffer held before, or on elements
    that do. `kept` ones were not written.
    """

    name: str
    index: int
    dtype: str
    elements: int
    written: int
    dependent: int

    @property
    def kept_elements(self) -> int:
        """The number of elements that the kernel did not write."""
        return self.elements - self.written


@dataclass(frozen=True)
class ResultComparison:
    """The result of an argument against a recorded content.

    `start` is the recorded state that the replay began with, `recorded` the one that its result is
    compared with. `equal` counts the elements with the same bits, of those that the kernel wrote.
    `error` is the largest one, a share of the largest recorded magnitude; None if it is infinite.
    """

    name: str
    start: str
    recorded: str
    compared: int
    equal: int
    error: float | None
    bound: float

    @property
    def fits(self) -> bool:
        """Whether the result is the recorded content, within the bound."""
        return self.error is not None and self.error <= self.bound


@dataclass(frozen=True)
class DispatchModel:
    """The work of a dispatch for the roofline.

    `idle_groups` of its threadgroups return without an access to a buffer, a barrier or an
    operation of a simdgroup. `moved` counts each byte once that memory must deliver or take.
    `operations` are those on floating-point numbers, `half_operations` the ones of them on half;
    None if they were not counted. The least time on the chip of the capture is in seconds, and
    `limit` sets it; None if the chip's bandwidth is not known. `unknown` has the reasons.
    """

    groups: int
    idle_groups: int
    moved: int
    operations: int | None
    half_operations: int | None
    chip: str
    least_seconds: float | None
    limit: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class DispatchReplay:
    """A dispatch that was run again; `source` is the place of the kernel's text.

    `reading` says which recorded contents fit. `verdicts` answer the questions of `kernel verify`.
    """

    capture: str
    dispatch: int
    function: str
    source: str
    outcome: ReplayOutcome
    verdict: str
    reading: str
    arguments: tuple[WrittenArgument, ...]
    comparisons: tuple[ResultComparison, ...]
    verdicts: tuple[ProofVerdict, ...]
    traffic: tuple[MovedBytes, ...]
    model: DispatchModel | None
    format: int = 1
