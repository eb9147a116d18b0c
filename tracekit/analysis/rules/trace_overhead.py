"""`trace-overhead`: recording itself made the workload slower."""

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.base import Overhead, Provenance


def trace_overhead(provenance: Provenance, *, limit: float = 0.05) -> Findings:
    """Recording made the workload slower.

    What it looks for:
        The median recorded step compared with the median step without a recorder, measured
        alternately. It fires when recording cost more than `limit` (default 5 %), unless the 95 %
        interval of that ratio includes zero cost.

    Why it matters:
        A recorder writes down every command buffer and encoder. If steps are short, this is a good
        part of their time, and absolute times include the recorder's.

    When it abstains:
        When the overhead was not measured, for the reason that the recorder gives.
    """
    overhead = provenance.overhead or Overhead()
    ratio = overhead.ratio
    spread = overhead.spread
    if ratio is None:
        if provenance.recorder == "import" or not provenance.workload:
            raise NotApplicable("the cost of recording is only measured for tracekit's workloads.")
        reason_text = overhead.reason.rstrip(".")
        reason_text = reason_text and f": {reason_text[:1].lower()}{reason_text[1:]}"
        raise Unavailable(f"the cost of recording was not measured{reason_text}.")
    if ratio <= limit or (spread is not None and ratio - spread <= 0):
        return
    facts = (Fact("ratio", ratio, "ratio"), Fact("spread", spread, "ratio"))
    yield finding(wording="trace-overhead", facts=facts, lever="trace-overhead")
