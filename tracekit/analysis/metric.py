"""A metric: a name, a unit, a direction, and a function of tables that gives its value."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracekit.analysis.result import Better

Value = float | int


@dataclass(frozen=True)
class Metric:
    """A number about a run.

    `measure` is a pure function: parameters without a default are tables, by name; it returns
    the value, or raises `Unavailable` with the reason.
    """

    name: str
    unit: str
    better: Better
    measure: Callable[..., Value]

    @property
    def meaning(self) -> str:
        """What the number is: the docstring of the function."""
        return inspect.getdoc(self.measure) or ""


def metric(unit: str, better: Better = Better.NEITHER) -> Callable[[Callable[..., Value]], Metric]:
    """Make a metric of a function; the function's name is the metric's."""

    def make(measure: Callable[..., Value]) -> Metric:
        return Metric(measure.__name__, unit, better, measure)

    return make


def listed(*metrics: Metric) -> Mapping[str, Metric]:
    """Return the metrics by name, in order."""
    return {one.name: one for one in metrics}
