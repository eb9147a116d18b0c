"""How long the target lived while it was recorded.

A recording begins before a target that it launches exists. Apple's table of life cycles tells when
the system was through with creating the process; nothing is known that tells when one ended, but
for a recording that ended with it.
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
    """How long a target lived in a recording, and how long was recorded; ns.

    `recorded` counts where nothing tells when the target was created.
    """

    created: int | None
    recorded: int

    @property
    def length(self) -> int:
        """How long the target lived, at most."""
        return self.recorded - (self.created or 0)


def lifetime_of(
    life_cycles: pd.DataFrame | None, targets: Targets, provenance: Provenance
) -> Lifetime:
    """Return it, of several targets from the first on; Unavailable where no duration is known."""
    recorded = round((provenance.duration or 0) * 1e9)
    if recorded <= 0:
        raise Unavailable("how long was recorded is not known.")
    return Lifetime(_find_creation_time(life_cycles, targets, recorded), recorded)


def _find_creation_time(
    life_cycles: pd.DataFrame | None, targets: Targets, recorded: int
) -> int | None:
    """Return when the first target had been created; None unless all are told."""
    if life_cycles is None or not targets:
        return None
    target_rows = own_rows(life_cycles)
    rows = target_rows[
        (target_rows["period"] == CREATION).fillna(value=False) & target_rows["duration"].notna()
    ]
    if not {target.pid for target in targets} <= set(rows["pid"].dropna()):
        return None
    created = int((rows["start"] + rows["duration"]).min())
    return created if 0 <= created < recorded else None
