"""`capture-empty`: a recording without a row of the target."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["capture-empty"].judge


def test_a_recording_with_rows_of_the_target_passes(intervals: Make, targets: pd.DataFrame) -> None:
    assert not list(judge(intervals([(0, 1)]), targets))


def test_rows_of_others_alone_are_an_error(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(intervals([], others=[(0, 1), (2, 1)]), targets)
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "The recording has no device interval of python3 (4711): all 2 belong to others: "
        "WindowServer (420) 2."
    )


def test_an_empty_table_is_an_error(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(intervals([]), targets)
    assert finding.message == (
        "The recording has no device interval of python3 (4711): the table has no rows at all."
    )


def test_it_abstains_without_a_known_target(intervals: Make, nobody: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="--target"):
        list(judge(intervals([(0, 1)]), nobody))
