"""The target's lifetime in the recording.

A recording begins before a target that it launches exists. Apple's table of life cycles shows when
the system had created the process. The end of a process is known only if the recording ended with
it.
"""

from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.scope import Targets, own_rows
from tracekit.base import Provenance

CREATION = "Initializing - Process Creation"
"""The period in which the system creates a process: none of its code runs before that ends."""


@dataclass(frozen=True)
class Lifetime:
    """The target's lifetime in a recording, and the recorded time; ns.

    `recorded` counts if the creation time of the target is unknown.
    """

    created: int | None
    recorded: int

    @property
    def length(self) -> int:
        """The lifetime of the target, at most."""
        return self.recorded - (self.created or 0)


def lifetime_of(
    life_cycles: pd.DataFrame | None, targets: Targets, provenance: Provenance
) -> Lifetime:
    """Return the lifetime, from the first of several targets; Unavailable without a duration."""
    recorded = round((provenance.duration or 0) * 1e9)
    if recorded <= 0:
        raise Unavailable("how long was recorded is not known.")
    return Lifetime(_find_creation_time(life_cycles, targets, recorded), recorded)


def _find_creation_time(
    life_cycles: pd.DataFrame | None, targets: Targets, recorded: int
) -> int | None:
    """Return the creation time of the first target; None unless all are known."""
    if life_cycles is None or not targets:
        return None
    target_rows = own_rows(life_cycles)
    is_creation = (target_rows["period"] == CREATION).fillna(value=False)
    rows = target_rows[is_creation & target_rows["duration"].notna()]
    target_pids = {target.pid for target in targets}
    if not target_pids <= set(rows["pid"].dropna()):
        return None
    ends = rows["start"] + rows["duration"]
    created = int(ends.min())
    return created if 0 <= created < recorded else None
