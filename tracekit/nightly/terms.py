"""What all captures of a night share."""

from dataclasses import dataclass

from tracekit.nightly.keeper import Keeper
from tracekit.nightly.memory import Memory
from tracekit.nightplan import NightPlan
from tracekit.recorder import Progress


@dataclass(frozen=True)
class Terms:
    """What all captures of a night share.

    Attributes:
        plan: The night's plan.
        keeper: Takes what was measured as soon as it is there.
        memory: What other nights said.
        deadline: When the night's time is spent, in monotonic seconds.
        progress: Hears what is being done.
    """

    plan: NightPlan
    keeper: Keeper
    memory: Memory
    deadline: float
    progress: Progress
