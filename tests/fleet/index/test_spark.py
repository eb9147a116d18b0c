"""A series as a line within a row."""

import pytest

from tracekit.fleet.index import points, words


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        pytest.param([5.0], ((3.0, 11.0),), id="one"),
        pytest.param([7.0, 7.0], ((3.0, 11.0), (93.0, 11.0)), id="unchanged"),
        pytest.param([1.0, 3.0, 2.0], ((3.0, 19.0), (48.0, 3.0), (93.0, 11.0)), id="up-and-down"),
        pytest.param([-4.0, 4.0], ((3.0, 19.0), (93.0, 3.0)), id="below-zero"),
    ],
)
def test_values_lie_evenly_apart_between_least_and_most(
    series: list[float], expected: tuple[tuple[float, float], ...]
) -> None:
    assert points(series) == expected


def test_words_say_what_the_line_shows() -> None:
    assert words([2e6], "ns") == "the first run of its kind"
    reported = words([2e6, 1e6, 4e6], "ns")
    assert reported == "the last of 3 runs of its kind, from 1 ms to 4 ms"
