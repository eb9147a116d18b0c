"""How much must stay free, and what is said when it is not."""

from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.record.xctrace.claim import Disk, floor

PLACES = (Path("/runs"), Path("/staging"))
FREE = {Path("/runs"): 50e9, Path("/staging"): 8.25e9}


def disk(gigabytes: float) -> Disk:
    return Disk(gigabytes * 1e9, lambda path: int(FREE[path]))


def test_the_floor_is_ten_gigabytes() -> None:
    assert floor({}) == 10e9


@pytest.mark.parametrize(("text", "expected"), [("2", 2e9), (" 0.5 ", 0.5e9), ("0", 0), ("", 10e9)])
def test_a_variable_moves_it(text: str, expected: float) -> None:
    assert floor({"TRACEKIT_DISK_FLOOR": text}) == expected


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf", "10GB"])
def test_a_variable_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="TRACEKIT_DISK_FLOOR is"):
        floor({"TRACEKIT_DISK_FLOOR": text})


def test_a_shortage_names_the_place_and_both_numbers() -> None:
    assert disk(10).shortage(PLACES) == (
        "8.2 GB are free where /staging lies, and 10 GB must stay free"
    )


def test_a_tenth_of_the_floor_is_critical() -> None:
    assert not disk(80).critical(PLACES)
    assert disk(83).critical(PLACES)


def test_what_is_just_enough_is_enough() -> None:
    assert not disk(8.25).shortage(PLACES)
    assert disk(8.26).shortage(PLACES)
    assert not disk(82.5).critical(PLACES)
