"""How much of many windows is covered, at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import IntervalSet, busy, clip

_PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=12)


def _arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    return starts, starts + np.array([length for _, length in pairs], dtype=np.int64)


@given(_PAIRS, _PAIRS)
def test_each_window_is_covered_as_if_it_were_alone(
    pairs: list[tuple[int, int]], windows: list[tuple[int, int]]
) -> None:
    starts, ends = _arrays(pairs)
    begins, stops = _arrays(windows)
    covered = IntervalSet.of(starts, ends).within(begins, stops)
    alone = [busy(*clip(starts, ends, int(a), int(b))) for a, b in zip(begins, stops, strict=True)]
    assert covered.tolist() == alone


def test_times_of_a_real_trace_are_exact() -> None:
    start = 1_700_000_000_000_000_001
    found = IntervalSet.of(np.array([start]), np.array([start + 7]))
    assert found.within(np.array([0, start + 3]), np.array([start + 100, start + 5])).tolist() == [
        7,
        2,
    ]
