"""The account of a workload that takes turns: its marks stay in memory until they are requested."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Notes:
    """The marks of the loop, kept in memory until they are requested."""

    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    pipelines: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def mark(self, kind: str, **values: Any) -> None:
        """Keep a step, the name of a pipeline or a warning; the rest is not needed."""
        if kind == "step":
            self.steps.append(values)
        elif kind == "specialization":
            self.pipelines.append(values["name"])
        elif kind == "warning":
            self.warnings.append(values["text"])

    def enter(self, phase: str, state: str) -> None:
        """Do nothing: phases are not needed."""

    def clear(self) -> None:
        """Forget the steps and pipelines so far."""
        self.steps.clear()
        self.pipelines.clear()
