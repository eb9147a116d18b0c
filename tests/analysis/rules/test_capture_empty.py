"""`capture-empty`: a recording without a row of the target."""

import pytest

from analysed import intervals, judged
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([(0, 1), (2, 1)], "all 2 belong to others: WindowServer (420) 2."),
        ([], "the table has no rows at all."),
    ],
)
def test_no_row_of_the_target_is_an_error(others: list[tuple[int, int]], said: str) -> None:
    [finding] = judged("capture-empty", gpu_intervals=intervals([], others=others))
    assert finding.severity is Severity.ERROR
    assert finding.message == f"The recording has no device interval of python3 (4711): {said}"
    assert not judged("capture-empty", gpu_intervals=intervals([(0, 1)], others=others))


def test_it_abstains_without_a_known_target() -> None:
    with pytest.raises(Unavailable, match="--target"):
        judged("capture-empty", known=False, gpu_intervals=intervals([(0, 1)]))
