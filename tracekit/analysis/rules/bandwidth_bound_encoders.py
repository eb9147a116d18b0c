"""`bandwidth-bound-encoders`: encoders of a replay near the bandwidth of the chip's memory."""

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.machine import Machine, chip_of
from tracekit.analysis.replay import CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding

_BANDWIDTH = "Device Memory Bandwidth"
_IN_BYTES = 1e9


def bandwidth_bound_encoders(
    replay: CaptureReplay, machine: Machine, *, limit: float = 0.60, share: float = 0.10
) -> Findings:
    """Encoders of a replay move bytes at nearly the bandwidth of the chip's memory.

    What it looks for:
        `Device Memory Bandwidth` of Xcode's counters, in GB/s, against the bandwidth of the chip.
        It fires for encoders that reach `limit` (60 %) of it, if these hold `share` (10 %) of the
        cost. Encoders whose cache counters contradict it are left out. The thresholds are
        tracekit's own.

    Why it matters:
        At the bandwidth of the memory only fewer bytes make an encoder faster.

    When it abstains:
        When the chip is not known: the counters do not name it, but their capture does. When no
        credible bandwidth was exported. Values of a serialized replay at a fixed clock are judged.
    """
    replay.require((_BANDWIDTH,), _BANDWIDTH)
    if not machine.get("chip"):
        raise Unavailable(
            "Xcode's counters do not name the chip, so its bandwidth is not known; import them "
            "together with their capture."
        )
    peak = chip_of(machine).bandwidth
    if peak.value is None:
        raise Unavailable(f"the bandwidth of the chip is not known: {peak.reason}")
    threshold = limit * peak.value / _IN_BYTES

    def is_bound(encoder: ReplayEncoder) -> bool:
        return encoder.cells.get(_BANDWIDTH, 0.0) >= threshold

    bound = replay.select(is_bound)
    if not bound.encoders or bound.share < share:
        return
    reached = (bound.mean(_BANDWIDTH) or 0.0) * _IN_BYTES
    yield finding(
        wording="bandwidth-bound-encoders",
        facts=(
            *bound.facts(),
            Fact("reached", reached, "bytes/s"),
            Fact("bandwidth", peak.value, "bytes/s"),
            Fact("share", reached / peak.value, "ratio"),
            Fact("chip", str(machine["chip"])),
        ),
        lever="memory-at-roof",
    )
