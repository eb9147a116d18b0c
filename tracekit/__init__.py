"""Record, read and judge Metal traces.

import tracekit

frame = tracekit.read_table("metal-gpu-intervals.xml")
run = tracekit.open("bench/traces/2026-11-20T10-15-03-paged")
run.tables["gpu_intervals"]
run.result.metric("tokens_per_second")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit import pipeline as pipeline
    from tracekit.run import Run, open  # noqa: A004  the name that a reader expects
    from tracekit.tables import read_table

_HOMES = {
    "Run": "tracekit.run",
    "open": "tracekit.run",
    "read_table": "tracekit.tables",
}

__all__ = ["Run", "open", "read_table"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts at once."""
    if name == "pipeline":
        return importlib.import_module("tracekit.pipeline")
    if name not in _HOMES:
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
