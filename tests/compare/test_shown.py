"""Changes in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.compare.verdicts import Scale, Shown


@pytest.mark.parametrize(
    ("scale", "unit", "change", "words"),
    [
        ("ratio", "ns", 0.0412, "+4.1 %"),
        ("ratio", "ns", -0.0412, "-4.1 %"),
        ("ratio", "ns", 0.0004, "0.0 %"),
        ("ratio", "ns", -0.0004, "0.0 %"),
        ("difference", "ratio", 0.021, "+2.1 points"),
        ("difference", "count", 3.0, "+3"),
        ("difference", "count", -0.5, "-0.500"),
        ("difference", "", 12345.0, "+12,345"),
        ("difference", "ns", -1_500_000.0, "-1.50 ms"),
        ("difference", "bytes", float(3 << 20), "+3 MiB"),
    ],
)
def test_a_change_has_a_sign_and_a_unit(scale: Scale, unit: str, change: float, words: str) -> None:
    assert Shown(scale, unit).change(change) == words


def test_an_interval_stands_behind_its_change() -> None:
    shown = Shown("ratio", "ns")
    assert shown.whole(0.041, 0.03, 0.052) == "+4.1 % [+3.0 % … +5.2 %]"
    assert shown.whole(0.041, None, None) == "+4.1 %"


@pytest.mark.parametrize(
    ("scale", "unit", "size", "words"),
    [
        ("ratio", "ns", 0.03, "3.0 %"),
        ("difference", "ratio", 0.02, "2.0 points"),
        ("difference", "count", 1.0, "1"),
        ("difference", "ns", 250_000.0, "250 µs"),
    ],
)
def test_a_threshold_has_no_sign(scale: Scale, unit: str, size: float, words: str) -> None:
    assert Shown(scale, unit).amount(size) == words


def test_both_ends_of_an_interval_have_a_sign() -> None:
    assert Shown("ratio", "ns").between(-0.01, 0.02) == "-1.0 % … +2.0 %"
    assert Shown("difference", "count").between(1.0, 3.0) == "+1 … +3"
    assert Shown("difference", "ratio").between(-0.0001, 0.031) == "0.0 points … +3.1 points"


@given(
    st.sampled_from(["ratio", "difference"]),
    st.sampled_from(["ns", "ratio", "bytes", "count", "tokens/s", "W", ""]),
    st.floats(-1e12, 1e12),
)
def test_a_change_and_its_opposite_differ_by_their_sign(
    scale: Scale, unit: str, change: float
) -> None:
    shown = Shown(scale, unit)
    there, back = shown.change(change), shown.change(-change)
    assert there.lstrip("+-") == back.lstrip("+-") == shown.amount(abs(change))
    assert (there == back) == (there == shown.amount(0.0))
