"""What all captures of a night share."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.compare.accepted import Accepted
from tracekit.nightly.keeper import Keeper
from tracekit.nightly.plan.plan import NightPlan
from tracekit.record.recorder import Progress


@dataclass(frozen=True)
class Terms:
    """What all captures of a night share.

    Attributes:
        plan: The night's plan.
        keeper: Takes what was measured as soon as it is there.
        accepted: What was accepted of captures, by name. It was asked before anything was
            measured: a history that goes away in the night takes nothing with it.
        deadline: When the night's time is spent, in monotonic seconds.
        progress: Hears what is being done.
    """

    plan: NightPlan
    keeper: Keeper
    accepted: Mapping[str, Accepted]
    deadline: float
    progress: Progress
