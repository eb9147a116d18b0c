"""The matrix in words."""

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.record.doctor.examine import MATRIX_COLUMNS, matrix_rows


def test_what_is_not_known_is_not_available_and_what_was_not_asked_for_says_so() -> None:
    matrix = Capabilities(
        Identity(),
        "2026-11-20",
        (
            Combination("launch", counters=False, rows=1500, others=0, dispatches=150, saving=4.04),
            Combination("attach", counters=True, failure="It\nhung.", warnings=("Slow.",)),
        ),
    )
    first, second = (dict(zip(MATRIX_COLUMNS, row, strict=True)) for row in matrix_rows(matrix))
    assert first == {
        "way": "launch, without counters",
        "rows": "1,500",
        "dispatches": "150",
        "others' rows": "0",
        "counter set": "none",
        "counter rows": "not asked for",
        "saving": "4.0 s",
        "remarks": "",
    }
    assert second["rows"] == second["counter rows"] == second["saving"] == "not available"
    assert second["remarks"] == "It hung. Slow."
