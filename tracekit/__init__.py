"""Record, read and judge Metal traces.

import tracekit

run = tracekit.open("mine.trace")  # or a run, a zip file, exports, a folder of exports
run.tables["gpu_intervals"]
run.result.metric("gpu_busy")
tracekit.report("mine.trace")  # the path of its page
tracekit.compare("before.trace", "after.trace")
tracekit.query("select * from gpu_intervals", "mine.trace")
frame = tracekit.read_table("metal-gpu-intervals.xml")
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit import pipeline as pipeline
    from tracekit.app.functions import analyze, capture, compare, open, query, report  # noqa: A004
    from tracekit.run import Run
    from tracekit.tables import read_table

_HOMES = {
    "Run": "tracekit.run",
    "analyze": "tracekit.app.functions",
    "capture": "tracekit.app.functions",
    "open": "tracekit.app.functions",
    "query": "tracekit.app.functions",
    "read_table": "tracekit.tables",
}
_MODULES = {"compare", "pipeline", "report"}
_CALLED = {"compare", "report"}

__all__ = ["Run", "analyze", "capture", "compare", "open", "query", "read_table", "report"]


def _call_room(room: ModuleType, *arguments: Any, **options: Any) -> Any:
    """Call the function of `tracekit.app.functions` that has the name of a room."""
    name = room.__name__.rpartition(".")[2]
    return getattr(importlib.import_module("tracekit.app.functions"), name)(*arguments, **options)


class _Package(ModuleType):
    """This package, whose rooms `compare` and `report` can be called, however they are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CALLED and isinstance(value, ModuleType):
            value.__class__ = type("CalledRoom", (type(value),), {"__call__": _call_room})
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts at once."""
    if name in _MODULES:
        return importlib.import_module(f"tracekit.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
