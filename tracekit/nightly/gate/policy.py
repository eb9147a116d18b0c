"""What the gate presumes and asks for, beside each metric's threshold."""

from dataclasses import dataclass

from tracekit.base.paired import CONFIDENCE, least_pairs


@dataclass(frozen=True)
class Policy:
    """What it takes to decide. `bench/gate_simulation.py` shows what other values would do.

    Attributes:
        confidence: Of intervals; a change whose interval leaves out 0 is significant.
        certainty: The same, of the interval of both sittings together that must leave out 0 for a
            regression: however much a machine varies, no more of equal nights than half of what is
            left are false alarms.
        spread: An interval that reaches further to either side than this multiple of the
            threshold decides nothing, for a change of that size could hide in it.
        agreement: Which part of the threshold a sitting must show by itself: the first one, for a
            second to look again, and either of both, for a change to be reproduced.
        least: How many pairs a metric needs at least to be judged by an interval.
    """

    confidence: float = CONFIDENCE
    certainty: float = 0.99
    spread: float = 1.0
    agreement: float = 0.5
    least: int = least_pairs()


POLICY = Policy()
