"""What the runs were made on and with: what differs, and whether that voids a comparison."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.base.recording import Provenance
from tracekit.compare.sample import Sample

NOT_STATED = "not stated"
_Facts = list[dict[str, str]]


class Weight(StrEnum):
    """What a difference does to a comparison: it voids it, or is to be kept in mind."""

    VOID = "void"
    MARKED = "marked"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in all runs; values of several runs stand with commas."""

    what: str
    before: str
    after: str
    weight: Weight


def differences(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[Difference, ...]:
    """Return what differs between the sides, and within a side; what voids comes first."""
    sides = [[_facts(one) for one in side] for side in (before, after)]
    names = dict.fromkeys(name for side in sides for facts in side for name in facts)
    found = list(_differing(names, sides))
    return tuple(sorted(found, key=lambda one: one.weight is not Weight.VOID))


def _differing(names: Iterable[str], sides: Sequence[_Facts]) -> Iterator[Difference]:
    for name in names:
        old, new = ([facts.get(name, NOT_STATED) for facts in side] for side in sides)
        if len({*old, *new}) > 1:
            void = name in _VOID and NOT_STATED not in {*old, *new}
            weight = Weight.VOID if void else Weight.MARKED
            yield Difference(name, _joined(old), _joined(new), weight)


def _facts(sample: Sample) -> dict[str, str]:
    provenance = sample.result.provenance
    facts = {name: read(provenance) for name, read in _READ.items()}
    facts |= {f"parameter {name}": str(value) for name, value in provenance.parameters.items()}
    return {name: words or NOT_STATED for name, words in facts.items()}


def _work(provenance: Provenance) -> str:
    """Return what was recorded: a workload, or a program; exports of others do not tell."""
    if provenance.command:
        return provenance.command[0]
    return "" if provenance.recorder == "import" else provenance.workload


def _target(provenance: Provenance) -> str:
    return ", ".join(sorted({one.name for one in provenance.targets if one.name}))


def _kind(provenance: Provenance) -> str:
    """Return whose clock the times are read from: exports of others are traces, too."""
    return "host: work on a CPU" if provenance.recorder == "host" else "trace of Instruments"


def _of_machine(key: str) -> Callable[[Provenance], str]:
    return lambda provenance: str(provenance.machine.get(key, ""))


def _optional(value: object) -> str:
    return "" if value is None else str(value)


_READ: dict[str, Callable[[Provenance], str]] = {
    "workload": _work,
    "recorder": _kind,
    "target": _target,
    "chip": _of_machine("chip"),
    "model": _of_machine("model"),
    "GPU cores": _of_machine("gpu_cores"),
    "cores": _of_machine("cores"),
    "memory": _of_machine("memory"),
    "architecture": _of_machine("architecture"),
    "Rosetta": _of_machine("rosetta"),
    "operating system": _of_machine("os"),
    "kernel": _of_machine("release"),
    "Instruments": lambda one: "" if one.recorder == "host" else one.recorder_version,
    "templates": lambda one: ", ".join(one.templates),
    "instruments": lambda one: ", ".join(one.instruments),
    "method": lambda one: one.method,
    "counters": lambda one: one.counters,
    "warm-up steps": lambda one: _optional(one.warmup),
    "time limit": lambda one: _optional(one.time_limit),
    "repeats": lambda one: _optional(one.repeats),
    "Python": _of_machine("python"),
    "MLX": _of_machine("mlx"),
    "tracekit": lambda one: one.tracekit,
    "git commit": lambda one: one.git_commit,
}
_VOID = frozenset({"workload", "recorder"})


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))
