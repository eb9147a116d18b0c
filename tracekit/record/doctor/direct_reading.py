"""Facts of direct reading: what comparing bundles with exports has shown on this build of Xcode."""

from collections.abc import Iterator

from tracekit.base.units import count
from tracekit.record.direct_reading.remembered import Memory
from tracekit.record.doctor.fact import Fact, not_applicable, ok, unknown, warning

_NAME = "direct reading"
_REPORT = (
    "Captures use exports of these tables. Report it with this line and the build: "
    "`tracekit doctor --json` has both."
)


def direct_facts(memory: Memory, *, has_xctrace: bool) -> Iterator[Fact]:
    """Say which tables of this build are read from bundles as xctrace exports them."""
    if not has_xctrace:
        yield not_applicable(
            _NAME, "There is no xctrace to compare with; bundles of others can be read."
        )
        return
    checked = memory.tables.values()
    if not checked:
        yield unknown(
            _NAME,
            f"not checked yet for build {memory.build or 'unknown'}",
            "The next `tracekit capture` exports tables once and compares.",
        )
        return
    equal = [one for one in checked if not one.difference]
    filled = sum(1 for one in equal if one.rows)
    rows = count(sum(one.rows for one in equal))
    words = f"verified for build {memory.build}: {filled} tables, {rows} rows compared"
    without = len(equal) - filled
    yield ok(_NAME, f"{words}; {without} without rows" if without else words)
    for one in checked:
        if one.difference:
            yield warning(f"{_NAME}: {one.schema}", f"differs: {one.difference}.", _REPORT)
