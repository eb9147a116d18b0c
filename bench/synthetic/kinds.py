"""The tables that stand for the three shapes of an export."""

from synthetic.counters import counters
from synthetic.export import Make
from synthetic.intervals import intervals
from synthetic.profile import profile

KINDS: dict[str, Make] = {
    "intervals": intervals,
    "counters": counters,
    "time-profile": profile,
}
