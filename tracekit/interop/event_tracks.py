"""What other programs draw: tracks of slices and of levels, in groups.

Times are nanoseconds of the trace, as everywhere here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

Ids = NDArray[np.uint64]
Redact = Callable[[str], str]


@dataclass(frozen=True)
class Group:
    """Tracks that belong together: those of a process, or of a device (pid None)."""

    name: str
    pid: int | None = None


@dataclass(frozen=True)
class Slices:
    """Intervals of one track, in order of their starts; they may overlap.

    Attributes:
        group: Where the track belongs.
        name: Its name.
        starts: When each begins; ns.
        ends: When each ends; ns.
        codes: Which of `names` each has.
        names: The distinct names.
        arguments: What else is known of each, by name; columns with nulls.
        flows: The chains that each is a link of, one array for each kind of chain; 0 is none.
    """

    group: Group
    name: str
    starts: Times
    ends: Times
    codes: NDArray[np.int64]
    names: tuple[str, ...]
    arguments: dict[str, pd.Series] = field(default_factory=dict[str, pd.Series])
    flows: tuple[Ids, ...] = ()

    def redacted(self, redact: Redact) -> "Slices":
        """Return the slices with every text redacted."""
        return replace(
            self,
            group=replace(self.group, name=redact(self.group.name)),
            name=redact(self.name),
            names=tuple(redact(name) for name in self.names),
            arguments={
                key: values.map(redact, na_action="ignore")
                if pd.api.types.is_string_dtype(values)
                else values
                for key, values in self.arguments.items()
            },
        )

    def taken(self, places: NDArray[np.intp]) -> "Slices":
        """Return the slices at these places, in their order."""
        return replace(
            self,
            starts=self.starts[places],
            ends=self.ends[places],
            codes=self.codes[places],
            arguments={name: values.iloc[places] for name, values in self.arguments.items()},
            flows=tuple(flow[places] for flow in self.flows),
        )


@dataclass(frozen=True)
class Levels:
    """A quantity over time: each value holds until the next one; in order of the times."""

    group: Group
    name: str
    unit: str
    times: Times
    values: NDArray[np.float64]

    def redacted(self, redact: Redact) -> "Levels":
        """Return the levels with every text redacted."""
        group = replace(self.group, name=redact(self.group.name))
        return replace(self, group=group, name=redact(self.name))


def rows_of(columns: dict[str, pd.Series]) -> list[dict[str, object]]:
    """Return what is known of each row: its values by name, without the nulls."""
    rows: list[dict[str, object]] = [{} for _ in range(max(map(len, columns.values()), default=0))]
    for name, values in columns.items():
        known = values.notna().to_numpy()
        for place, value in zip(np.flatnonzero(known), values[known].tolist(), strict=True):
            rows[place][name] = value
    return rows
