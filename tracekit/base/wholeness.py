"""The outcome of an examination of a run, a bundle or a history: whole, not whole, or unknown."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Wholeness:
    """The examined place, and its faults.

    `checked` are the numbers of checked things, by their names. `faults` are the defects, `unknown`
    the reasons why the outcome is not known, both in sentences.
    """

    kind: Literal["run", "bundle", "history"]
    place: str
    checked: dict[str, int] = field(default_factory=dict[str, int])
    faults: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["whole", "not whole", "not known"]:
        """The outcome: a fault outweighs an unknown."""
        if self.faults:
            return "not whole"
        if self.unknown:
            return "not known"
        return "whole"
