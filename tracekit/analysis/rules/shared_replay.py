"""`shared-replay`: something else drew on the GPU while a capture was replayed."""

from tracekit.analysis.replay import CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.tables import Severity

_STAGES = {"FS Occupancy": "FS Invocations", "VS Occupancy": "VS Invocations"}


def shared_replay(replay: CaptureReplay, *, limit: float = 0.005, share: float = 0.10) -> Findings:
    """Other work ran on the GPU during the replay of a capture.

    What it looks for:
        Xcode's counters of a GPU frame capture. It is a note about encoders with fragments or
        vertices in flight, an occupancy of at least `limit` (0.5 %), although the encoder itself
        made none, if these hold `share` (10 %) of the cost. The thresholds are tracekit's own.

    Why it matters:
        Counters are those of the whole GPU. The window server or another program that draws takes
        threads, caches and bandwidth, and nothing separates its part from the encoder's own.

    When it abstains:
        When no occupancy of fragments or vertices was exported.
    """
    replay.require(tuple(_STAGES), "fragments or vertices in flight")

    shared = replay.select(lambda encoder: _measure_other_work(encoder) >= limit)
    if not shared.encoders or shared.share < share:
        return
    highest = max(map(_measure_other_work, shared.encoders))
    yield finding(
        severity=Severity.NOTE,
        wording="shared-replay",
        facts=(*shared.facts(), Fact("highest", highest, "ratio")),
        lever="shared-replay",
    )


def _measure_other_work(encoder: ReplayEncoder) -> float:
    """Return the highest occupancy of a stage that the encoder itself did not run."""
    highest = 0.0
    for occupancy, invocations in _STAGES.items():
        if encoder.cells.get(invocations) == 0:  # a missing count accuses nobody
            highest = max(highest, encoder.cells.get(occupancy, 0.0))
    return highest
