"""What an examination of a run, a bundle or a history comes to: whole, not whole, or not known."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Wholeness:
    """What was examined and what is wrong with it.

    `checked` counts what was looked at, by its name. `faults` say what is not whole, `unknown` what
    keeps it from being said, both in sentences.
    """

    kind: Literal["run", "bundle", "history"]
    place: str
    checked: dict[str, int] = field(default_factory=dict[str, int])
    faults: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["whole", "not whole", "not known"]:
        """The outcome: a fault outweighs what is not known."""
        if self.faults:
            return "not whole"
        return "not known" if self.unknown else "whole"
