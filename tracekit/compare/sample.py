"""One run that takes part in a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.result import Measurement, Result


@dataclass(frozen=True, eq=False)
class Sample:
    """A run's result and its tables.

    Attributes:
        name: What the run is called, such as the name of its folder.
        result: Its result.
        tables: Its normalized tables; None where only the result is left.
        absence: Why there are no tables.
    """

    name: str
    result: Result
    tables: Mapping[str, pd.DataFrame] | None = None
    absence: str = ""

    def measurement(self, name: str) -> Measurement | None:
        """Return what was measured under that name, by tracekit or by the workload itself."""
        for one in (*self.result.metrics, *self.result.results):
            if one.name == name:
                return one
        return None
