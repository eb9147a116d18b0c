import shutil
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


def test_arrays_that_a_cache_could_hold_say_nothing_of_memory() -> None:
    for size, cache, of_memory in ((400, 100, True), (399, 100, False), (400, None, None)):
        assert Bandwidth(1, 1, size, 1, 1, cache).of_memory is of_memory


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    for index, text in enumerate(("48K\n", "1024K\n", "32M\n")):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "size").write_text(text)
    assert last_cache(tmp_path) == 32 << 20
    assert last_cache(tmp_path / "nowhere") is None
    shutil.rmtree(tmp_path / "index2")
    shutil.rmtree(tmp_path / "index1")
    for text in ("much\n", "32768\n", "8\n"):
        (tmp_path / "index0" / "size").write_text(text)
        assert last_cache(tmp_path) is None
