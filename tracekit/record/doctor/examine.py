"""The whole examination: every fact, in the order of the table; the last probe is kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import Capabilities, Identity, InconclusiveError, TracekitError
from tracekit.record.direct_reading.compare import recall
from tracekit.record.doctor.checks import checked
from tracekit.record.doctor.facts import Fact, Verdict, warning
from tracekit.record.doctor.known import direct_facts, keep, recall_probe, shown
from tracekit.record.doctor.probe import probe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.recorder import Progress, quiet
from tracekit.record.recorders import choose, xctrace_here

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


def examine(
    surroundings: Surroundings,
    where: Path,
    progress: Progress = quiet,
    fresh: Capabilities | None = None,
) -> Diagnosis:
    """Look at everything, without recording.

    `fresh` is what a probe showed just now; it is kept in `where`, with former ones.
    """
    progress("Xcode")
    has_xctrace, identity = surroundings.has_xctrace, surroundings.identity
    progress("this machine")
    capabilities = fresh or recall_probe(identity, where)
    facts = [
        *checked(surroundings),
        *shown(capabilities, has_xctrace=has_xctrace),
        *direct_facts(recall(identity.xcode_build, where), has_xctrace=has_xctrace),
    ]
    if fresh is not None:
        facts += _kept(fresh, where)
    return Diagnosis(identity, tuple(facts), capabilities)


def probe_machine(surroundings: Surroundings, progress: Progress = quiet) -> Capabilities:
    """Record the probe in each way that this machine offers.

    Raises:
        ToolError: There is no xctrace, or it cannot be used.
        InterruptedRunError: Someone asked to stop.
    """
    progress("Xcode")
    xctrace_here()
    return probe(choose("xctrace"), surroundings.identity, progress)


def _kept(fresh: Capabilities, where: Path) -> Iterator[Fact]:
    """Keep the matrix, unless no trace could be read at all: then it says nothing lasting."""
    words, fix = "", "Fix what the rows above say, and probe again."
    if all(way.rows is None for way in fresh.combinations):
        words = "No trace of the probe could be read, so this probe is not kept."
    else:
        try:
            keep(fresh, where)
        except TracekitError as error:
            words, fix = error.message, f"Let {where} be a folder that you may write to."
    if words:
        yield warning(words, fix, name="probe's cache")
