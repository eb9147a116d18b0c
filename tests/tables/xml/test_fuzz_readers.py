"""The two readers on files made at random, whole and damaged; `bench/fuzz.py` does it for hours.

The cases are the same in every run. What must hold of each stands in fuzzing/comparison.py.
"""

import pytest

from fuzzing.campaign import Case, Tally, run

pytestmark = pytest.mark.campaign

SEEDS = range(400)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """What became of all files."""
    return run(SEEDS)


def described(cases: list[Case]) -> str:
    return "\n".join(f"seed {case.seed}: {case.words[:300]}" for case in cases[:5])


@pytest.mark.parametrize("kind", ["differs", "untrue", "harmed", "failed"])
def test_no_file_is_read_wrong(tally: Tally, kind: str) -> None:
    cases = [case for case in tally.cases if case.kind == kind]
    assert not cases, described(cases)


def test_enough_files_were_tried_and_enough_of_them_read_fast(tally: Tally) -> None:
    counts = tally.counts
    assert counts["plain"] + counts["odd"] == len(SEEDS)
    assert counts["damaged"] == 4 * len(SEEDS)
    assert counts["plain, not well-formed"] == counts["odd, not well-formed"] == 0
    assert counts["damaged, not well-formed"] > len(SEEDS)
    assert tally.accepted > 0.5
    assert counts["damaged, read fast"] > 20
