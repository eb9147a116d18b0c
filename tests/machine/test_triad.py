from pathlib import Path

import numpy as np

from tracekit.machine.triad import Bandwidth, last_cache, measure_bandwidth, triad


def test_the_triad_is_a_scaled_sum_of_any_length() -> None:
    random = np.random.default_rng(1)
    for length in (1, 8191, 8192, 20_001):
        added, scaled = random.random(length), random.random(length)
        result = np.zeros(length)
        triad(result, added, scaled)
        np.testing.assert_array_equal(result, added + 3.0 * scaled)


def test_bandwidth_is_measured_over_passes_by_threads() -> None:
    found = measure_bandwidth(6 << 20, passes=3, threads=2)
    assert found.best >= found.median > 0
    assert (found.passes, found.threads) == (3, 2)
    assert abs(found.size - (6 << 20)) < 24


def bandwidth(size: int, cache: int | None) -> Bandwidth:
    return Bandwidth(1, 1, size, 1, 1, cache)


def test_arrays_that_a_cache_could_hold_say_nothing_of_memory() -> None:
    assert bandwidth(400, 100).of_memory is True
    assert bandwidth(399, 100).of_memory is False
    assert bandwidth(400, None).of_memory is None


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    for index, text in enumerate(("48K\n", "1024K\n", "32M\n")):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "size").write_text(text)
    assert last_cache(tmp_path) == 32 << 20


def test_a_system_that_tells_of_no_cache_has_none(tmp_path: Path) -> None:
    assert last_cache(tmp_path / "nowhere") is None
    (tmp_path / "index0").mkdir()
    for text in ("much\n", "32768\n", "8\n"):
        (tmp_path / "index0" / "size").write_text(text)
        assert last_cache(tmp_path) is None
