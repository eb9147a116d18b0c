"""A night that somebody accepted as what is to be expected from now on."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Accepted:
    """What is expected of one capture on one machine.

    Attributes:
        night: The id of the accepted night.
        capture: The capture's name.
        work: The digest of its work: what was accepted of other work says nothing.
        at: When it was accepted, ISO 8601 in UTC.
        reason: Why, in the words of who did.
        changes: By metric, the change of the candidate from the reference in each pair that
            counts: the logarithm of the ratio where the metric is compared by ratio, else the
            difference.
    """

    night: str
    capture: str
    work: str
    at: str
    reason: str
    changes: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
