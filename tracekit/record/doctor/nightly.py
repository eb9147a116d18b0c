"""Facts of nightly captures: what of the machine's state can be read here, and if it would count.

A night runs fixed work of its own, so its canary is no matter of the machine.
"""

from collections.abc import Iterator
from dataclasses import replace

from tracekit.machine.state import JUDGED, State, StateLimits, contaminated
from tracekit.machine.state import unknown as not_known
from tracekit.record.doctor.fact import Fact, ok, unknown, warning
from tracekit.record.doctor.surroundings import Surroundings

_STATE = "nightly"
_CANARY = "canary"
_MONITOR = "macmon tells a GPU's clock without root: `brew install macmon`."


def nightly_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at the machine as a night does, once."""
    state = surroundings.state()
    state = replace(
        state, absences={name: why for name, why in state.absences.items() if name != _CANARY}
    )
    yield _now(state)
    missing = not_known((state,))
    if missing:
        fix = _MONITOR if surroundings.on_mac and "gpu_clock" in state.absences else ""
        yield unknown("nightly, unknown", " ".join(missing), fix)


def _now(state: State) -> Fact:
    known = [name.replace("_", " ") for name in JUDGED if name in state.readings]
    reasons = contaminated(state, None, (), StateLimits())
    if reasons:
        return warning(
            _STATE,
            " ".join(reasons),
            "While it is so, a night measures such pairs again, and is inconclusive in the end; "
            "its plan may allow more.",
        )
    return ok(_STATE, f"as a night wants it; readable: {', '.join(known) or 'nothing'}")
