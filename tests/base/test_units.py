"""Numbers, sizes, times and ages as people read and write them."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pandas as pd
import pytest

from tracekit.base import units
from tracekit.base.errors import UsageError

# Three digits and the unit that suits it; sizes are binary; what is not nought is not shown as it.
WORDS: dict[Callable[[Any], Any], dict[Any, Any]] = {
    units.duration: {
        0: "0 ns", 7: "7 ns", 999: "999 ns", 1_000: "1 µs", 1_234: "1.23 µs", 999_499: "999 µs",
        999_500: "1.00 ms", -999_500: "-1.00 ms", 45_600_000: "45.6 ms", 2_000_000_000: "2 s",
        3_600_000_000_000: "3,600 s", 0.5: "0.500 ns", -1_500_000: "-1.50 ms",
    },
    units.moment: {
        0: "0.000 000 s", 1_204_518_400: "1.204 518 s", 999_999_600: "1.000 000 s",
        -1_500_000: "-0.001 500 s",
    },
    units.size: {
        0: "0 B", 1023: "1,023 B", 1024: "1 KiB", (1 << 20) - 1: "1.00 MiB",
        1_572_864: "1.50 MiB", 8 << 30: "8 GiB",
    },
    units.percent: {
        0: "0.0 %", 0.345: "34.5 %", 1: "100.0 %", 0.0004: "< 0.1 %", 0.001: "0.1 %",
        -0.001: "-0.1 %", -0.0004: "> -0.1 %", -0.05: "-5.0 %",
    },
    units.unavailable: {
        "there are no steps.": "not available, because there are no steps",
        "": "not available; no reason is given",
    },
    units.stamp: {
        "2026-11-20T10:15:03.123+00:00": "2026-11-20 10:15:03 UTC",
        "2026-03-30T20:49:19-07:00": "2026-03-30 20:49:19 UTC-07:00",
        "2026-03-30T20:49:19": "2026-03-30 20:49:19", "yesterday": "yesterday", "": "",
    },
    units.span: {
        0: "0 s", 0.1: "0.1 s", 0.25: "0.25 s", 45: "45 s",
        59.4: "59 s", 59.6: "1 min", 60: "1 min", 3600: "1 h 0 min",
        7530: "2 h 6 min",
    },
    units.age: {
        "30d": timedelta(days=30), "12h": timedelta(hours=12), "6w": timedelta(weeks=6),
        " 1.5 D ": timedelta(hours=36), "0d": timedelta(0), "36500d": timedelta(days=36_500),
    },
    units.size_of: {
        "50GB": 50 * 10**9, "50 gb": 50 * 10**9, "20GiB": 20 * 2**30, "1.001kB": 1001,
        "800MiB": 800 * 2**20, "4096": 4096, "4096B": 4096, "2TB": 2 * 10**12, "0": 0,
        "999999999MB": 999_999_999 * 10**6,
    },
}  # fmt: skip


@pytest.mark.parametrize(("function", "words"), WORDS.items())
def test_units_are_read_and_written(function: Callable[[Any], Any], words: dict[Any, Any]) -> None:
    assert {value: function(value) for value in words} == words


QUANTITIES = {
    (1_230_000, "ns"): "1.23 ms", (0.1, "ratio"): "10.0 %", (1 << 20, "bytes"): "1 MiB",
    (120e9, "bytes/s"): "120 GB/s", (0, "bytes/s"): "0 B/s", (1e6, "bytes/s"): "1 MB/s",
    (1000, "count"): "1,000", (213.31, "1/s"): "213 per s", (1.93, "cores"): "1.93 cores",
    (3412.4, "tokens/s"): "3,412 tokens/s", (999_999, "tokens/s"): "999,999 tokens/s",
    (2.5e12, "FLOP/s"): "2.50 TFLOP/s", (1.996, "flop/byte"): "2.00 flop/byte",
    (1.398e9, "Hz"): "1.40 GHz", (461e6, "Hz"): "461 MHz", (999.4e6, "Hz"): "999 MHz",
    (999.5e6, "Hz"): "1.00 GHz", (50, "Hz"): "50 Hz", (17.25, "W"): "17.2 W", (7, ""): "7",
}  # fmt: skip


def test_a_quantity_is_worded_by_its_unit() -> None:
    assert {(value, unit): units.quantity(value, unit) for value, unit in QUANTITIES} == QUANTITIES
    for _, unit in QUANTITIES:
        for missing in (None, math.nan, math.inf, pd.NA):
            assert units.quantity(missing, unit) == units.NOT_AVAILABLE


NO_AGES = ("30", "", "d", "-1d", "30m", "1e3d", "36500.1d", "99999999d", "٣d", "1..5d")
NO_SIZES = ("", "GB", "50G", "-1GB", "50XB", "1iB", "1e9", "5 0GB", "٣GB")


def test_no_age_and_no_size(subtests: pytest.Subtests) -> None:
    for read, texts in ((units.age, NO_AGES), (units.size_of, NO_SIZES)):
        for text in texts:
            with subtests.test(text), pytest.raises(UsageError, match=r"Invalid (age|size)"):
                read(text)


def test_a_commit_in_short_still_says_that_its_tree_was_changed() -> None:
    assert units.short_commit("0123456789abcdef", 9) == "012345678"
    assert units.short_commit("0123456789abcdef-dirty", 9) == "012345678-dirty"
    assert units.short_commit("0123456789abcdef") == "0123456789ab"
    assert units.short_commit("") == ""
