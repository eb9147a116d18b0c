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
from tracekit.record.doctor.probe import DOSE, Dose, probe, probe_host
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.recorder import Progress, quiet
from tracekit.record.recorders import choose

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
    fresh: Capabilities | Fact | None = None,
) -> Diagnosis:
    """Look at everything, without recording.

    `fresh` is what a probe showed just now; its matrix is kept in `where`, with former ones.
    """
    progress("Xcode")
    has_xctrace = surroundings.has_xctrace
    identity = surroundings.identity
    progress("this machine")
    matrix = fresh if isinstance(fresh, Capabilities) else None
    capabilities = matrix or recall_probe(identity, where)
    facts = [
        *checked(surroundings),
        *shown(capabilities, has_xctrace=has_xctrace),
        *((fresh,) if isinstance(fresh, Fact) else ()),
        *direct_facts(recall(identity.xcode_build, where), has_xctrace=has_xctrace),
    ]
    if matrix is not None:
        facts += _kept(matrix, where)
    return Diagnosis(identity, tuple(facts), capabilities)


def probe_machine(
    surroundings: Surroundings, progress: Progress = quiet, dose: Dose = DOSE
) -> Capabilities | Fact:
    """Record the probe in each way that this machine offers; on the CPU if it has no xctrace.

    What it showed is the matrix of xctrace, or a fact of the host recorder's.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    progress("Xcode")
    if not surroundings.has_xctrace:
        return probe_host(progress, dose)
    return probe(choose("xctrace"), surroundings.identity, progress, dose)


def _kept(fresh: Capabilities, where: Path) -> Iterator[Fact]:
    """Keep the matrix, unless no trace could be read at all: then it says nothing lasting."""
    name = "probe's cache"
    if all(way.rows is None for way in fresh.combinations):
        yield warning(
            "No trace of the probe could be read, so this probe is not kept.",
            "Fix what the rows above say, and probe again.",
            name=name,
        )
        return
    try:
        keep(fresh, where)
    except TracekitError as error:
        yield warning(
            f"{error.message} Reports will not show what the probe found.",
            f"Let {where} be a folder that you may write to.",
            name=name,
        )
