"""How long a capture waits for what."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Seconds to wait: for the whole capture, for an end that was asked for, between looks."""

    whole: float = 1800
    leave: float = 20
    poll: float = 0.05
    probe: float = 120


PATIENCE = Patience()
