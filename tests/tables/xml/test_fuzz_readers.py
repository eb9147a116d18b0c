"""The two readers on files made at random, whole and damaged.

The cases are the same in every run; `tests/fuzz/fuzz_exports.py` makes others for
hours. `fuzzing/comparison.py` defines what must hold of each.
"""

import pytest

from fuzzing.campaign import run

pytestmark = pytest.mark.campaign

SEEDS = range(400)


def test_no_file_is_read_wrong_and_enough_are_read_fast() -> None:
    tally = run(SEEDS)
    assert [f"{case.kind}, seed {case.seed}: {case.words[:300]}" for case in tally.cases] == []
    counts = tally.counts
    assert counts["plain"] + counts["odd"] == len(SEEDS)
    assert counts["damaged"] == 4 * len(SEEDS)
    assert counts["plain, not well-formed"] == counts["odd, not well-formed"] == 0
    assert counts["damaged, not well-formed"] > len(SEEDS)
    assert tally.accepted > 0.5
    assert counts["damaged, read fast"] > 20
