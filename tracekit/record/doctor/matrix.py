"""The capability matrix in words: a row for each way to record."""

from tracekit.base.capabilities import Capabilities, Combination
from tracekit.base.units import NOT_AVAILABLE, count

MATRIX_COLUMNS = (
    "way",
    "rows",
    "dispatches",
    "others' rows",
    "counter set",
    "counter rows",
    "saving",
    "remarks",
)


def matrix_rows(capabilities: Capabilities) -> list[tuple[str, ...]]:
    """Return the cells of each way that was tried."""
    return [_row(one) for one in capabilities.combinations]


def _row(one: Combination) -> tuple[str, ...]:
    saving = NOT_AVAILABLE if one.saving is None else f"{one.saving:.1f} s"
    remarks = (one.failure, *one.warnings)
    return (
        one.name,
        count(one.rows),
        count(one.dispatches),
        count(one.others),
        one.counter_set or "none",
        count(one.counter_rows) if one.counters else "not asked for",
        saving,
        " ".join(" ".join(text.split()) for text in remarks if text),
    )
