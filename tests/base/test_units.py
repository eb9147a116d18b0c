import math

import pandas as pd
import pytest

from tracekit.base.units import (
    NOT_AVAILABLE,
    duration,
    moment,
    percent,
    quantity,
    short_commit,
    size,
    span,
    stamp,
    unavailable,
)


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0, "0 ns"),
        (7, "7 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_234, "1.23 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (-999_500, "-1.00 ms"),
        (1_230_000, "1.23 ms"),
        (45_600_000, "45.6 ms"),
        (2_000_000_000, "2 s"),
        (3_600_000_000_000, "3,600 s"),
        (0.5, "0.500 ns"),
        (-1_500_000, "-1.50 ms"),
    ],
)
def test_a_duration_has_three_digits_and_the_unit_that_suits_it(
    nanoseconds: float, words: str
) -> None:
    assert duration(nanoseconds) == words


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0, "0.000 000 s"),
        (1_204_518_400, "1.204 518 s"),
        (999_999_600, "1.000 000 s"),
        (-1_500_000, "-0.001 500 s"),
    ],
)
def test_a_moment_is_exact_to_the_microsecond(nanoseconds: int, words: str) -> None:
    assert moment(nanoseconds) == words


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        ((1 << 20) - 1, "1.00 MiB"),
        (1_572_864, "1.50 MiB"),
        (8 << 30, "8 GiB"),
    ],
)
def test_sizes_are_binary(octets: int, words: str) -> None:
    assert size(octets) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0, "0.0 %"),
        (0.345, "34.5 %"),
        (1, "100.0 %"),
        (0.0004, "< 0.1 %"),
        (0.001, "0.1 %"),
        (-0.001, "-0.1 %"),
        (-0.0004, "> -0.1 %"),
        (-0.05, "-5.0 %"),
    ],
)
def test_a_percentage_that_is_not_nought_is_not_shown_as_nought(ratio: float, words: str) -> None:
    assert percent(ratio) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1_230_000, "ns", "1.23 ms"),
        (0.1, "ratio", "10.0 %"),
        (1 << 20, "bytes", "1 MiB"),
        (120e9, "bytes/s", "120 GB/s"),
        (0, "bytes/s", "0 B/s"),
        (1000, "count", "1,000"),
        (213.31, "1/s", "213 per s"),
        (3412.4, "tokens/s", "3,412 tokens/s"),
        (1.93, "cores", "1.93 cores"),
        (2.5e12, "FLOP/s", "2.50 TFLOP/s"),
        (1.398e9, "Hz", "1.40 GHz"),
        (461e6, "Hz", "461 MHz"),
        (999.4e6, "Hz", "999 MHz"),
        (999.5e6, "Hz", "1.00 GHz"),
        (1e6, "bytes/s", "1 MB/s"),
        (999_999, "tokens/s", "999,999 tokens/s"),
        (50, "Hz", "50 Hz"),
        (17.25, "W", "17.2 W"),
        (1.996, "flop/byte", "2.00 flop/byte"),
        (7, "", "7"),
    ],
)
def test_a_quantity_is_worded_by_its_unit(value: float, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


@pytest.mark.parametrize(
    "unit", ["ns", "ratio", "bytes", "bytes/s", "count", "1/s", "tokens/s", "Hz"]
)
@pytest.mark.parametrize("value", [None, math.nan, math.inf, pd.NA])
def test_what_is_not_a_number_is_not_available(value: float | None, unit: str) -> None:
    assert quantity(value, unit) == NOT_AVAILABLE


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("there are no steps.", "not available, because there are no steps"),
        ("", "not available; no reason is given"),
    ],
)
def test_a_missing_value_says_why(reason: str, words: str) -> None:
    assert unavailable(reason) == words


@pytest.mark.parametrize(
    ("iso", "words"),
    [
        ("2026-11-20T10:15:03.123+00:00", "2026-11-20 10:15:03 UTC"),
        ("2026-03-30T20:49:19-07:00", "2026-03-30 20:49:19 UTC-07:00"),
        ("2026-03-30T20:49:19", "2026-03-30 20:49:19"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_a_time_of_day_is_written_as_people_do(iso: str, words: str) -> None:
    assert stamp(iso) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (45, "45 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (3600, "1 h 0 min"),
        (7530, "2 h 6 min"),
    ],
)
def test_a_length_of_time_is_told_as_people_plan(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_a_commit_in_short_still_says_that_its_tree_was_changed() -> None:
    assert short_commit("0123456789abcdef", 9) == "012345678"
    assert short_commit("0123456789abcdef-dirty", 9) == "012345678-dirty"
    assert short_commit("") == ""
