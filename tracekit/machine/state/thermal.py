"""The thermal pressure, as macOS tells every process: the state of a notification, without root.

The levels are those of <libkern/OSThermalNotification.h> on macOS; powermetrics calls them by
the same names.
"""

import ctypes
import ctypes.util
from contextlib import suppress

from tracekit.machine.state.known import Known, absent
from tracekit.machine.telemetry.reading import THERMAL_PRESSURES

_NAME = b"com.apple.system.thermalpressurelevel"
_LEVELS = ("Nominal", "Moderate", "Heavy", "Trapping", "Sleeping")
_OK = 0  # NOTIFY_STATUS_OK


def ask() -> int | None:
    """Ask macOS for the level; None where it does not answer."""
    with suppress(OSError, AttributeError, TypeError):
        system = ctypes.CDLL(ctypes.util.find_library("System"))
        token, level = ctypes.c_int(), ctypes.c_uint64()
        if system.notify_register_check(_NAME, ctypes.byref(token)) != _OK:
            return None
        answer = system.notify_get_state(token, ctypes.byref(level))
        system.notify_cancel(token)
        return int(level.value) if answer == _OK else None
    return None


def pressure(level: int | None) -> Known:
    """Return `thermal_pressure`: the place of macOS's level in `THERMAL_PRESSURES`."""
    if level is None:
        return absent("macOS does not answer what its thermal pressure is.", "thermal_pressure")
    if not 0 <= level < len(_LEVELS):
        return absent(
            f"macOS says its thermal pressure is {level}, which tracekit does not know.",
            "thermal_pressure",
        )
    return Known({"thermal_pressure": float(THERMAL_PRESSURES.index(_LEVELS[level]))})
