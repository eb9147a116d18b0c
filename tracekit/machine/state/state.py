"""What the machine was like, and what it must be like for a number to count."""

from dataclasses import dataclass, field

# What decides whether a measurement counts; of each a state has a reading or a reason.
JUDGED = (
    "canary",
    "gpu_clock",
    "load",
    "memory_free",
    "mains",
    "battery",
    "thermal_pressure",
    "gpu_others",
    "low_power",
)


@dataclass(frozen=True)
class State:
    """What the machine was like at one moment, or since the moment before.

    Attributes:
        at: When, ISO 8601 in UTC.
        readings: What could be read, by name. Names: those of `tracekit.machine.telemetry.reading`;
            `canary` (ns that fixed work took), `load` (the share of all cores' time that other
            processes had, as a ratio), `memory_free` (bytes), `battery` (ratio), `mains` (1 on
            mains, 0 on battery), `low_power` (1 where the system saves power), `gpu_others`
            (ratio of the time in which other processes used the GPU).
        absences: Why others could not be read, by name; all names of `JUDGED` are in either.
    """

    at: str
    readings: dict[str, float] = field(default_factory=dict[str, float])
    absences: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class StateLimits:
    """What a machine must be like; None leaves something out of account.

    Attributes:
        canary: By which ratio fixed work may take longer than the fastest of the sitting.
        clock: By which ratio the GPU's clock may be lower than the highest of the sitting.
        load: The most of all cores' time that other processes may have, as a ratio.
        memory_free: The least free memory, in bytes.
        battery: The least charge while on battery, as a ratio; None to allow mains only.
        thermal_pressure: The highest place in `THERMAL_PRESSURES`.
        gpu_others: The most of the GPU's time that other processes may have, as a ratio.
        low_power: Whether the system may save power.
    """

    canary: float | None = 0.15
    clock: float | None = 0.05
    load: float | None = 0.5
    memory_free: int | None = 1 << 30
    battery: float | None = None
    thermal_pressure: int | None = 0
    gpu_others: float | None = 0.05
    low_power: bool = False
