"""The rule of all comparisons calls equal sides worse in at most one of a hundred."""

import pytest

from tracekit.base import Verdict
from tracekit.comparison.spread import Limits
from verdict_simulation import CVS, SAMPLINGS, Effort, Sampling, count_words

EFFORT = Effort(400, 1, Limits())


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda sampling: sampling.name)
def test_equal_sides_are_seldom_called_worse(sampling: Sampling) -> None:
    """Drawn from a seed that stays, so that it holds in every run or in none."""
    for count in sampling.counts:
        for cv in CVS:
            words = count_words(sampling, count, cv, 0.0, EFFORT)
            assert words[Verdict.WORSE] <= 0.01 * EFFORT.times, (count, cv, words)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda sampling: sampling.name)
def test_a_change_far_beyond_the_limit_is_found_and_never_called_equivalent(
    sampling: Sampling,
) -> None:
    largest_count = max(sampling.counts)
    words = count_words(sampling, largest_count, 0.01, 0.10, Effort(100, 1, Limits()))
    assert words[Verdict.WORSE] >= 99, words
    assert words[Verdict.EQUIVALENT] == words[Verdict.BETTER] == 0, words
