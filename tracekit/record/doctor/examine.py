"""The whole examination: every fact, in the order of the table."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.capabilities import Capabilities
from tracekit.base.errors import TracekitError
from tracekit.record.choice import choose
from tracekit.record.direct_reading.remembered import recall
from tracekit.record.doctor import cache
from tracekit.record.doctor.diagnosis import Diagnosis
from tracekit.record.doctor.direct_reading import direct_facts
from tracekit.record.doctor.fact import Fact, warning
from tracekit.record.doctor.host_probe import probe_host
from tracekit.record.doctor.identity import identify
from tracekit.record.doctor.nightly import nightly_facts
from tracekit.record.doctor.own import own_facts
from tracekit.record.doctor.permission import permission_facts
from tracekit.record.doctor.probe import DOSE, Dose, probe
from tracekit.record.doctor.python import python_facts
from tracekit.record.doctor.room import room_facts
from tracekit.record.doctor.shown import shown
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.doctor.system import system_facts
from tracekit.record.doctor.xcode import Toolchain, toolchain
from tracekit.record.recorder import Progress, quiet


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
    capabilities = probed.capabilities or cache.recall_probe(identity, where)
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
            "Mend what the rows above say, and probe again.",
        )
        return
    try:
        cache.keep(fresh, where)
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
