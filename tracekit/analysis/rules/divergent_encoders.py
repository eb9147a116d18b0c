"""`divergent-encoders`: encoders of a replay whose lanes do not work together."""

from tracekit.analysis.replay import CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding

_INEFFICIENCY = "Kernel ALU Inefficiency"
_CONTROL = "Control Flow Limiter"


def divergent_encoders(
    replay: CaptureReplay,
    *,
    inefficiency: float = 0.20,
    control: float = 0.50,
    share: float = 0.10,
) -> Findings:
    """Lanes of a simdgroup go different ways in encoders of a replay.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders with a `Kernel ALU
        Inefficiency` of at least `inefficiency` (20 %), which the form with all digits has, or a
        `Control Flow Limiter` of at least `control` (50 %), which the rounded form has, if these
        hold `share` (10 %) of the cost. The thresholds are tracekit's own.

    Why it matters:
        A simdgroup executes every way that one of its lanes takes; the other lanes wait.

    When it abstains:
        When neither counter was exported. Values of a serialized replay at a fixed clock are
        judged.
    """
    replay.require((_INEFFICIENCY, _CONTROL), "divergence")

    def is_divergent(encoder: ReplayEncoder) -> bool:
        is_inefficient = encoder.cells.get(_INEFFICIENCY, 0.0) >= inefficiency
        return is_inefficient or encoder.cells.get(_CONTROL, 0.0) >= control

    divergent = replay.select(is_divergent)
    if not divergent.encoders or divergent.share < share:
        return
    yield finding(
        wording="divergent-encoders",
        facts=(
            *divergent.facts(),
            Fact("inefficiency", divergent.mean(_INEFFICIENCY), "ratio"),
            Fact("control", divergent.mean(_CONTROL), "ratio"),
        ),
        lever="divergent-lanes",
    )
