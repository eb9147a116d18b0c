"""Where the power comes from, and whether the system saves it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracekit.machine.state.known import Known, absent

PMSET_COMMAND = ("/usr/bin/pmset", "-g")
PROFILE = Path("/sys/firmware/acpi/platform_profile")

# `pmset -g` says lowpowermode, or powermode on Macs that have a high power mode as well.
_MODE = re.compile(r"^\s*(lowpowermode|powermode)\s+(\S+)\s*$", re.MULTILINE)
_LOW = {"lowpowermode": {"0": 0.0, "1": 1.0}, "powermode": {"0": 0.0, "1": 1.0, "2": 0.0}}
_LOW_PROFILE = "low-power"


def source(battery: Callable[[], Any]) -> Known:
    """Return `mains` and `battery`, from what psutil says of the battery."""
    told = battery()
    if told is None:
        return absent("the system tells of no battery.", "mains", "battery")
    charge = Known({"battery": min(1.0, max(0.0, told.percent / 100))})
    if told.power_plugged is None:
        return Known(
            charge.readings, {"mains": "the system does not say whether it is plugged in."}
        )
    return Known({**charge.readings, "mains": float(bool(told.power_plugged))})


def low_power_of_mac(printed: str) -> Known:
    """Return `low_power`, from the settings in use that `pmset -g` prints."""
    modes = dict(_MODE.findall(printed))
    for name, known in _LOW.items():
        if name in modes:
            value = modes[name]
            if value in known:
                return Known({"low_power": known[value]})
            return absent(f"pmset says {name} {value}, which tracekit does not know.", "low_power")
    return absent("`pmset -g` names no power mode.", "low_power")


def low_power_of_linux(profile: Path) -> Known:
    """Return `low_power`, from the platform profile of Linux."""
    try:
        word = profile.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return absent("this Linux has no platform profile.", "low_power")
    return Known({"low_power": float(word == _LOW_PROFILE)})
