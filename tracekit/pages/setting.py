"""The setting of a run in a few words each: target, chip, parameters, state of the machine."""

from collections.abc import Iterator

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import Process, Provenance, units
from tracekit.pages.panel import Tables, rows
from tracekit.pages.text import clip, flat

LONGEST = 160
_CALM = frozenset({"nominal"})


def describe_setting(result: Result, tables: Tables) -> list[tuple[str, str]]:
    """Return the name and the words of each fact; a fact that is not recorded says so."""
    provenance = result.provenance
    return [
        ("Target", _target(provenance)),
        ("Chip", _chip(provenance)),
        _parameters(provenance),
        ("Machine", _state(result, tables)),
    ]


def _target(provenance: Provenance) -> str:
    names = map(_name_process, provenance.targets)
    return clip(", ".join(names), LONGEST) or "not known"


def _name_process(process: Process) -> str:
    return f"{process.name or 'unnamed'} (pid {process.pid})"


def _chip(provenance: Provenance) -> str:
    machine = provenance.machine
    model = str(machine.get("chip") or machine.get("model") or "")
    words = [model or "not recorded"]
    if machine.get("gpu_cores"):
        words.append(f"{machine['gpu_cores']} GPU cores")
    elif machine.get("cores"):
        words.append(f"{machine['cores']} cores")
    system = str(machine.get("os") or "")
    if not system and machine.get("system"):
        system = f"{machine['system']} {machine.get('release') or ''}".strip()
    if system:
        words.append(system)
    return clip(", ".join(words), LONGEST)


def _parameters(provenance: Provenance) -> tuple[str, str]:
    """Return the facts that distinguish this run from others of its kind."""
    chosen = {name: value for name, value in provenance.parameters.items() if value is not None}
    if chosen:
        pairs = [f"{name} {value}" for name, value in flat(chosen)]
        return "Parameters", clip(", ".join(pairs), LONGEST)
    if provenance.command:
        return "Command", clip(" ".join(provenance.command), LONGEST)
    words = [", ".join(provenance.templates)]
    if provenance.duration is not None:
        words.append(units.duration(provenance.duration * 1e9))
    return "Recording", ", ".join(filter(None, words)) or "no parameters are known"


def _state(result: Result, tables: Tables) -> str:
    words = list(_describe_state(result, tables))
    return "; ".join(words) or "its state was not recorded"


def _describe_state(result: Result, tables: Tables) -> Iterator[str]:
    """Yield each fact about the state of the machine during the run."""
    crowd = analysis.crowd.crowd_of(tables, result.provenance)
    if crowd is not None:
        yield crowd.words
    thermal = rows(tables, "thermal_states")
    if not thermal.absence:
        names = thermal.frame["state"].dropna().astype(str).unique()
        hot_names = [name for name in names if name.lower() not in _CALM]
        yield f"thermal state {', '.join(hot_names) or 'nominal'}"
    machine = result.provenance.machine
    if machine.get("low_power"):
        yield "Low Power Mode"
    if machine.get("mains") == 0:
        yield "on battery"
    if machine.get("virtual"):
        yield "virtual"
    if machine.get("paged_out"):
        yield f"{units.size(machine['paged_out'])} paged out meanwhile"
