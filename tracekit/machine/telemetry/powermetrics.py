"""Reads `powermetrics -f plist`: property lists with NULs between them. It needs root.

`gpu/freq_hz` holds MHz, whatever its name says, as far as its readers know; a number that could
only be Hz is taken as Hz. Powers are milliwatts. Where only an energy is given, in millijoules,
the power is that energy over the time of the sample.
"""

import plistlib
from collections.abc import Mapping
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.machine.telemetry.reading import (
    Field,
    Reading,
    Taken,
    absent,
    at_path,
    is_number,
    take,
    thermal_pressure,
    together,
)

POWERMETRICS = "powermetrics"
POWERMETRICS_END = b"</plist>"

_SAMPLERS = "cpu_power,gpu_power,thermal"
_SURELY_HERTZ = 100_000  # no GPU runs at 100 GHz
_COMBINED = Field("processor/combined_power", "combined_power", "W", 1e-3)
_CPU = ("processor/cpu_power", "processor/cpu_energy")
_GPU = ("processor/gpu_power", "gpu/gpu_power", "processor/gpu_energy", "gpu/gpu_energy")


def powermetrics_command(program: str, interval: int, samples: int) -> tuple[str, ...]:
    """Return the command line that prints so many samples, one every `interval` milliseconds."""
    count = ("-i", str(interval), "-n", str(samples))
    return (program, "--samplers", _SAMPLERS, "-f", "plist", *count)


def read_powermetrics(document: bytes) -> Taken:
    """Read one property list, whole, with NULs around it or not."""
    try:
        sample: Any = plistlib.loads(document.strip(b"\0\n\r\t "), fmt=plistlib.FMT_XML)
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return Taken((), (f"{POWERMETRICS}: a document is no property list: {error}.",))
    if not isinstance(sample, dict):
        return Taken((), (f"{POWERMETRICS}: a document holds no dictionary.",))
    known: Mapping[str, Any] = sample
    return together(
        _clock(known),
        _active(known),
        _power(known, "gpu_power", _GPU),
        _power(known, "cpu_power", _CPU),
        take(POWERMETRICS, known, (_COMBINED,)),
        _thermal(known),
    )


def _clock(sample: Mapping[str, Any]) -> Taken:
    value = at_path(sample, "gpu/freq_hz")
    if not is_number(value):
        return Taken((), (absent(POWERMETRICS, "gpu/freq_hz", sample),))
    return Taken((Reading("gpu_clock", value * (1 if value >= _SURELY_HERTZ else 1e6), "Hz"),))


def _active(sample: Mapping[str, Any]) -> Taken:
    idle = at_path(sample, "gpu/idle_ratio")
    if not is_number(idle):
        return Taken((), (absent(POWERMETRICS, "gpu/idle_ratio", sample),))
    return Taken((Reading("gpu_active", 1 - idle, "ratio"),))


def _power(sample: Mapping[str, Any], name: str, paths: tuple[str, ...]) -> Taken:
    elapsed = at_path(sample, "elapsed_ns")
    for path in paths:
        value = at_path(sample, path)
        if not is_number(value):
            continue
        if path.endswith("_power"):
            return Taken((Reading(name, value / 1e3, "W"),))
        if is_number(elapsed) and elapsed > 0:
            return Taken((Reading(name, value / 1e3 / (elapsed / 1e9), "W"),))
    return Taken((), (absent(POWERMETRICS, paths[0], sample),))


def _thermal(sample: Mapping[str, Any]) -> Taken:
    word = sample.get("thermal_pressure")
    if word is None:
        return Taken((), (absent(POWERMETRICS, "thermal_pressure", sample),))
    return thermal_pressure(POWERMETRICS, word)
