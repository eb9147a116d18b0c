"""All that the doctor found, what it comes to, and how it is written for programs."""

from dataclasses import dataclass
from typing import Any

import msgspec

from tracekit.base.capabilities import Capabilities, Identity
from tracekit.base.errors import InconclusiveError, TracekitError
from tracekit.record.doctor.fact import Fact, Verdict

DIAGNOSIS_FORMAT = 1


@dataclass(frozen=True)
class Diagnosis:
    """The facts of one machine, and its capability matrix where it was ever probed."""

    identity: Identity
    facts: tuple[Fact, ...]
    capabilities: Capabilities | None = None

    @property
    def exit_code(self) -> int:
        """0 if nothing stands in the way; 3 if a fact failed; 4 if a needed one is not known."""
        if any(fact.verdict is Verdict.FAILED for fact in self.facts):
            return TracekitError.exit_code
        if any(fact.verdict is Verdict.UNKNOWN and fact.needed for fact in self.facts):
            return InconclusiveError.exit_code
        return 0

    def document(self) -> dict[str, Any]:
        """Return what `tracekit doctor --json` prints; see docs/reference/doctor.md."""
        return {
            "format": DIAGNOSIS_FORMAT,
            "identity": msgspec.to_builtins(self.identity),
            "facts": msgspec.to_builtins(self.facts),
            "capabilities": msgspec.to_builtins(self.capabilities),
            "exit_code": self.exit_code,
        }
