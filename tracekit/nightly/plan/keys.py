"""Which keys each table of a plan has: what is read, and what the reference page lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from tracekit.machine.monitors import THERMAL_PRESSURES
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.kind import Kind, off_or
from tracekit.nightly.plan.numbers import above_zero, duration, number, place_in, size, whole
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.plan.texts import (
    COMMAND,
    COMMANDS,
    FLAG,
    NAME,
    PARAMETERS,
    PATH,
    TEMPLATES,
    TEXT,
    TEXTS,
    choice,
)

_WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Keys:
    """The keys of one table.

    Attributes:
        noun: What the table makes; its docstring says what each key means.
        title: How messages call the table.
        kinds: What each field takes.
        tables: Fields that are tables of their own, or arrays of them.
        names: What a field is called in the file, where it is not its own name with dashes.
    """

    noun: type[Any]
    title: str
    kinds: Mapping[str, Kind]
    tables: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None

    def name(self, field: str) -> str:
        """Return the key of a field."""
        return (self.names or {}).get(field, field.replace("_", "-"))

    @property
    def fields(self) -> dict[str, str]:
        """Every field by its key."""
        return {self.name(one): one for one in (*self.kinds, *self.tables)}


def _words_of(noun: type[Any], field: str) -> Kind:
    return choice(*(one for one in get_args(get_type_hints(noun)[field]) if one))


NIGHT = Keys(
    NightPlan,
    "[nightly]",
    {
        "name": NAME,
        "output": PATH,
        "history": TEXT,
        "budget": duration(1, _WEEK),
        "machine": NAME,
        "retries": whole(0, 1000),
    },
    ("state", "defaults", "captures"),
    {"state": "machine-state", "captures": "capture"},
)
STATE = Keys(
    StateLimits,
    "[nightly.machine-state]",
    {
        "canary": off_or(number(0, 10)),
        "clock": off_or(number(0, 1)),
        "load": off_or(number(0, 1)),
        "memory_free": off_or(size()),
        "battery": off_or(number(0, 1)),
        "thermal_pressure": off_or(place_in(THERMAL_PRESSURES)),
        "gpu_others": off_or(number(0, 1)),
        "low_power": FLAG,
    },
)
CAPTURE = Keys(
    Capture,
    "[[nightly.capture]]",
    {
        "name": NAME,
        "workload": TEXT,
        "workloads": PATH,
        "parameters": PARAMETERS,
        "pairs": whole(1, 1000),
        "turn": duration(0.001, 600),
        "together": FLAG,
        "warmup": whole(0, 10_000),
        "traced": whole(0, 100),
        "recorder": _words_of(Capture, "recorder"),
        "templates": TEMPLATES,
        "counters": _words_of(Capture, "counters"),
        "telemetry": _words_of(Capture, "telemetry"),
        "time_limit": duration(0.1, 3600),
        "parity": _words_of(Capture, "parity"),
        "checks": COMMANDS,
        "fail_on": TEXTS,
    },
    ("reference", "metrics"),
    {"templates": "template"},
)
REFERENCE = Keys(
    Reference,
    "[nightly.capture.reference]",
    {
        "workload": TEXT,
        "parameters": PARAMETERS,
        "python": PATH,
        "revision": TEXT,
        "setup": COMMAND,
        "pythonpath": TEXTS,
    },
)
METRIC = Keys(
    Gated,
    "[nightly.capture.metrics]",
    {
        "threshold": above_zero(),
        "scale": choice("ratio", "difference"),
        "better": _words_of(Gated, "better"),
        "gate": FLAG,
    },
)
