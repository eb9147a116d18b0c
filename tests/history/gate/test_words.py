"""Changes in words."""

import pytest

from tracekit.history.gate.decision import Found
from tracekit.history.gate.words import Shown, reason
from tracekit.history.spread import Interval
from tracekit.nightplan import Scale


@pytest.mark.parametrize(
    ("scale", "unit", "change", "words"),
    [
        ("ratio", "ns", 0.0412, "+4.1 %"),
        ("ratio", "ns", -0.0412, "-4.1 %"),
        ("ratio", "ns", 0.0004, "0.0 %"),
        ("ratio", "ns", -0.0004, "0.0 %"),
        ("difference", "ratio", 0.021, "+2.1 points"),
        ("difference", "count", 3.0, "+3"),
        ("difference", "count", -0.5, "-0.5"),
        ("difference", "", 12345.0, "+12,345"),
        ("difference", "ns", -1_500_000.0, "-1.50 ms"),
        ("difference", "bytes", float(3 << 20), "+3 MiB"),
    ],
)
def test_a_change_has_a_sign_and_a_unit(scale: Scale, unit: str, change: float, words: str) -> None:
    assert Shown(scale, unit).change(change) == words


def test_an_interval_stands_behind_its_change() -> None:
    shown = Shown("ratio", "ns")
    assert shown.whole(0.041, Interval(0.041, 0.03, 0.052)) == "+4.1 % [+3.0 % … +5.2 %]"
    assert shown.whole(0.041, None) == "+4.1 %"


@pytest.mark.parametrize("found", Found)
def test_every_end_has_words_of_its_own(found: Found) -> None:
    one = reason(found, "+4.1 %", ["+4.1 %"], "3.0 %")
    two = reason(found, "+3.0 %", ["+4.1 %", "+1.9 %"], "3.0 %")
    assert one.startswith("+4.1 %:")
    assert one.endswith(".")
    assert two.count("+3.0 %") == 1
    others = [reason(other, "+4.1 %", ["+4.1 %"], "3.0 %") for other in Found if other != found]
    assert one not in others
