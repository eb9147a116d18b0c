"""One value of each choice of a recording, as no document has it by default."""

from typing import Any

from tracekit.base.choices import RecordingChoices

_VALUES: dict[str, Any] = {
    "parameters": {"batch": 3},
    "recorder": "xctrace",
    "method": "attach",
    "counters": "on",
    "telemetry": "macmon",
    "templates": ("Time Profiler", "Other"),
    "instruments": ("Points of Interest",),
    "time_limit": 1.25,
    "after": 0.5,
    "warmup": 7,
    "repeats": 9,
    "patterns": ("rate:token/s:higher:rate (\\d+)",),
    "command": ("./probe", "--fast"),
}


def choice_values() -> dict[str, Any]:
    """Return a value for each choice."""
    names = [name for name, _ in RecordingChoices.options()]
    missing = [name for name in names if name not in _VALUES]
    assert not missing, (
        f"add a value of each new choice to tests/harness/choice_values.py: {missing}"
    )
    return {name: _VALUES[name] for name in names}
