"""Ages and sizes as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.base.units import age, size_of


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        ("6w", timedelta(weeks=6)),
        (" 1.5 D ", timedelta(hours=36)),
        ("0d", timedelta(0)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_an_age_is_read(text: str, meant: timedelta) -> None:
    assert age(text) == meant


@pytest.mark.parametrize(
    "text", ["30", "", "d", "-1d", "30m", "1e3d", "36500.1d", "99999999d", "٣d", "1..5d"]
)
def test_no_age_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is no age"):
        age(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("50GB", 50_000_000_000),
        ("50 gb", 50_000_000_000),
        ("20GiB", 20 * 2**30),
        ("1.5kB", 1500),
        ("800MiB", 800 * 2**20),
        ("4096", 4096),
        ("4096B", 4096),
        ("2TB", 2 * 10**12),
        ("0", 0),
    ],
)
def test_a_size_is_read(text: str, meant: int) -> None:
    assert size_of(text) == meant


@pytest.mark.parametrize("text", ["", "GB", "50G", "-1GB", "50XB", "1iB", "1e9", "5 0GB", "٣GB"])
def test_no_size_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        size_of(text)


@given(st.integers(0, 10**15), st.sampled_from(["", "B", "kB", "MB", "GB", "kiB", "MiB"]))
def test_whole_numbers_are_exact(number: int, unit: str) -> None:
    factor = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "kiB": 2**10, "MiB": 2**20}
    assert size_of(f"{number}{unit}") == pytest.approx(number * factor[unit], rel=1e-15)
