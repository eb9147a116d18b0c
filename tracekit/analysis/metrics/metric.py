"""A metric: its declaration, and the function that measures it, which is loaded when it is used."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from tracekit.analysis.result import Better

Value = float | int


@dataclass(frozen=True)
class Metric:
    """A number about a run.

    Its function has the same name, in the `module` of this package. Importing that would load
    pandas, and most commands need no more of a metric than its unit.
    """

    name: str
    unit: str
    module: str
    better: Better = Better.NEITHER

    @cached_property
    def measure(self) -> Callable[..., Value]:
        """The function that measures it, loaded on the first access.

        It is a pure function of tables and of values that `Given` derives from them, by the names
        of its parameters; it returns the value, or raises `Unavailable` with the reason.
        """
        return getattr(import_module(f"{__package__}.{self.module}"), self.name)

    @property
    def meaning(self) -> str:
        """The meaning of the number: the docstring of the function."""
        return inspect.getdoc(self.measure) or ""
