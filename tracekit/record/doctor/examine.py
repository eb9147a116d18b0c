"""The whole examination: every fact, in the order of the table; the last probe is kept."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import (
    FORMAT,
    Capabilities,
    Identity,
    InconclusiveError,
    TracekitError,
    advise,
    notes_folder,
    save,
)
from tracekit.record.direct_reading.compare import recall
from tracekit.record.doctor.checks import (
    direct_facts,
    nightly_facts,
    own_facts,
    permission_facts,
    python_facts,
    room_facts,
    system_facts,
)
from tracekit.record.doctor.facts import Fact, Surroundings, Verdict, here, identify, warning
from tracekit.record.doctor.probe import DOSE, Dose, probe, probe_host, shown
from tracekit.record.doctor.xcode import Toolchain, toolchain
from tracekit.record.recorder import Progress, Recorder, quiet
from tracekit.record.recorders import choose
from tracekit.workload import METAL_SYSTEM_TRACE, Plan

log = logging.getLogger(__name__)


def keep(capabilities: Capabilities, where: Path) -> Path:
    """Write the matrix in place of an older one of the same machine; return its file.

    Raises:
        RecordingError: The cache cannot be written.
    """
    file = _file(capabilities.identity, where)
    save(file, capabilities)
    return file


def recall_probe(identity: Identity, where: Path) -> Capabilities | None:
    """Return what was found on this very machine; None where it was never probed.

    What another build of the system or of Xcode showed does not count, nor what cannot be read.
    """
    file = _file(identity, where)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Capabilities)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read, so nothing is known of this machine: %s", file, error)
        return None
    return found if (found.format, found.identity) == (FORMAT, identity) else None


def _file(identity: Identity, where: Path) -> Path:
    parts = (identity.system_build, identity.xcode_build, identity.chip)
    words = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-") or "unknown" for part in parts)
    return where / f"capabilities-{'_'.join(words)}.json"


def known_of(recorder: Recorder) -> Capabilities | None:
    """Return what a probe of this machine showed; None for the host recorder, or without one."""
    if recorder.name != "xctrace":
        return None
    return recall_probe(identify(here(), recorder.version()), notes_folder())


def advised(plan: Plan, matrix: Capabilities | None) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with every `auto` that the matrix can decide, and what to say of it.

    What a user asked for by name stays, and so does all of a machine that was never probed.
    A template of one's own has its own counter set, so nothing is added to it.
    """
    if matrix is None:
        return plan, ()
    undecided = plan.counters == "auto" and plan.templates == (METAL_SYSTEM_TRACE,)
    way = advise(matrix, counters=undecided or plan.counters == "on")
    notes: list[str] = []
    if plan.method == "auto" and plan.workload is not None and way.mode == "attach":
        plan = replace(plan, method="attach")
        notes.append(f"The workload was attached to: {way.reason}. `--method` chooses.")
    if undecided and way.counters and (plan.method, way.mode) != ("launch", "attach"):
        plan = replace(plan, counters="on")
        notes.append(
            f"GPU counters were asked for: {_seen(matrix)}. `--counters off` leaves them out."
        )
    return plan, tuple(notes)


def _seen(matrix: Capabilities) -> str:
    working = [one for one in matrix.combinations if one.counters and one.works]
    slowest = max((one.saving for one in working if one.saving is not None), default=None)
    took = "" if slowest is None else f"; saving took {slowest:.0f} s"
    return f"they came when this machine was probed{took}"


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


@dataclass(frozen=True)
class Probed:
    """What recordings of the probe showed: the matrix of xctrace, or a fact of the host's."""

    capabilities: Capabilities | None = None
    facts: tuple[Fact, ...] = ()


def examine(
    surroundings: Surroundings,
    where: Path,
    progress: Progress = quiet,
    fresh: Probed | None = None,
) -> Diagnosis:
    """Look at everything, without recording.

    Args:
        surroundings: The machine.
        where: The cache of what former probes showed.
        progress: Is told what goes on.
        fresh: What a probe showed just now; its matrix is kept in the cache.
    """
    progress("Xcode")
    tools = toolchain(surroundings)
    identity = identify(surroundings, tools.version)
    progress("this machine")
    probed = fresh or Probed()
    capabilities = probed.capabilities or recall_probe(identity, where)
    facts = [*_facts(surroundings, tools, capabilities), *probed.facts]
    memory = recall(identity.xcode_build, where)
    facts += direct_facts(memory, has_xctrace=tools.tool is not None)
    if probed.capabilities is not None:
        facts += _kept(probed.capabilities, where)
    return Diagnosis(identity, tuple(facts), capabilities)


def probe_machine(
    surroundings: Surroundings, progress: Progress = quiet, dose: Dose = DOSE
) -> Probed:
    """Record the probe in each way that this machine offers; on the CPU if it has no xctrace.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    progress("Xcode")
    tools = toolchain(surroundings)
    if tools.tool is None:
        return Probed(facts=(probe_host(progress, dose),))
    return Probed(probe(choose("xctrace"), identify(surroundings, tools.version), progress, dose))


def _kept(fresh: Capabilities, where: Path) -> Iterator[Fact]:
    """Keep the matrix, unless no trace could be read at all: then it says nothing lasting."""
    if all(one.rows is None for one in fresh.combinations):
        yield warning(
            "probe's cache",
            "No trace of the probe could be read, so this probe is not kept.",
            "Fix what the rows above say, and probe again.",
        )
        return
    try:
        keep(fresh, where)
    except TracekitError as error:
        yield warning(
            "probe's cache",
            f"{error.message} Reports will not show what the probe found.",
            f"Let {where} be a folder that you may write to.",
        )


def _facts(
    surroundings: Surroundings, tools: Toolchain, capabilities: Capabilities | None
) -> Iterator[Fact]:
    has_xctrace = tools.tool is not None
    yield from own_facts()
    yield from system_facts(surroundings)
    yield from python_facts(surroundings)
    yield from tools.facts
    yield from permission_facts(surroundings)
    yield from room_facts(surroundings, for_xctrace=has_xctrace or surroundings.on_mac)
    yield from nightly_facts(surroundings)
    yield from shown(capabilities, has_xctrace=has_xctrace)
