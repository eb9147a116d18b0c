"""The one rule of all comparisons, and the sentences that are its intervals."""

from hypothesis import given
from hypothesis import strategies as some

from tracekit.base.verdicts import Doubt, Interval, Shown, Verdict, sentence_of, verdict_of

LIMIT = 0.03
TIME = Shown("ratio", "ns")
RATE = Shown("ratio", "tokens/s")
SHARE = Shown("difference", "ratio")
ends = some.lists(some.floats(-0.2, 0.2), min_size=3, max_size=3).map(sorted)


def test_sentences_are_the_interval() -> None:
    for verdict, display, interval, reason, words in (
        (Verdict.SLIGHTLY_WORSE, TIME, (0.029, 0.025, 0.033), "",
         "slower by 2.9 % ± 0.4, below your limit of 3 %"),
        (Verdict.WORSE, TIME, (0.097, 0.093, 0.101), "",
         "slower by 9.7 % ± 0.4, beyond your limit of 3 %"),
        (Verdict.BETTER, TIME, (-0.097, -0.101, -0.093), "",
         "faster by 9.7 % ± 0.4, beyond your limit of 3 %"),
        (Verdict.WORSE, RATE, (-0.06, -0.064, -0.056), "",
         "lower by 6.0 % ± 0.4, beyond your limit of 3 %"),
        (Verdict.SLIGHTLY_BETTER, TIME, (-0.04, -0.08, -0.01), "",
         "faster by 4.0 % (1.0 % … 8.0 %); it is not certain to be beyond your limit of 3 %"),
        (Verdict.SLIGHTLY_WORSE, TIME, (0.0003, 0.0002, 0.0004), "",
         "slower by 0.03 % ± 0.01, below your limit of 3 %"),
        (Verdict.EQUIVALENT, TIME, (0.001, -0.004, 0.006), "",
         "equivalent within 3 %: +0.1 % ± 0.5"),
        (Verdict.EQUIVALENT, TIME, (0.0, 0.0, 0.0), "", "equivalent within 3 %: 0.0 % ± 0.0"),
        (Verdict.EQUIVALENT, TIME, (0.0, None, None), "", "equivalent within 3 %: 0.0 %"),
        (Verdict.UNCLEAR, TIME, (0.01, -0.06, 0.085), "a change of 3 % could hide in it",
         "changed by +1.0 % ± 7.5; a change of 3 % could hide in it"),
        (Verdict.UNCLEAR, TIME, (0.01, None, None), "few", "changed by +1.0 %; few"),
        # Half a width would seem to reach 0, or hides how unlike both ends are.
        (Verdict.SLIGHTLY_WORSE, TIME, (0.01, 0.001, 0.021), "",
         "slower by 1.0 % (0.1 % … 2.1 %), below your limit of 3 %"),
        (Verdict.WORSE, SHARE, (0.1, 0.08, 0.12), "",
         "higher by 10.0 points (8.0 points … 12.0 points), beyond your limit of 3 points"),
    ):  # fmt: skip
        assert sentence_of(verdict, display, interval, LIMIT, reason) == words


@given(ends, some.sampled_from([0.0, 0.01, LIMIT]))
def test_no_word_says_more_than_its_interval(interval_ends: list[float], limit: float) -> None:
    lower_bound, middle, upper_bound = interval_ends
    verdict, doubt = verdict_of(Interval(middle, lower_bound, upper_bound), limit)
    outside = lower_bound > 0 or upper_bound < 0
    assert (verdict is Verdict.WORSE) is (lower_bound > 0 and lower_bound >= limit)
    assert (verdict is Verdict.BETTER) is (upper_bound < 0 and upper_bound <= -limit)
    assert verdict is not Verdict.EQUIVALENT or not outside
    assert (verdict is Verdict.EQUIVALENT) is (
        not outside and -limit <= lower_bound and upper_bound <= limit
    )
    assert verdict is not Verdict.SLIGHTLY_WORSE or (lower_bound > 0 and middle < limit)
    assert verdict is not Verdict.SLIGHTLY_BETTER or upper_bound < 0
    assert (doubt is None) is (verdict is not Verdict.UNCLEAR)


def test_a_slow_down_that_was_not_confirmed_does_not_pass() -> None:
    assert verdict_of(Interval(0.035, 0.02, 0.05), LIMIT) == (Verdict.UNCLEAR, Doubt.UNREPEATED)
    assert verdict_of(Interval(-0.035, -0.05, -0.02), LIMIT) == (Verdict.SLIGHTLY_BETTER, None)
    assert [verdict.exit_code for verdict in Verdict] == [1, 0, 0, 0, 0, 4]
