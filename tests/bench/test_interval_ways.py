"""The ways to join and to sum up intervals that are timed side by side answer alike."""

import pytest

import intervals


@pytest.mark.parametrize("question", ["union", "union, mixed", "gaps", "percentiles", "by label"])
def test_all_ways_answer_alike(question: str) -> None:
    ways = intervals.questions(3000)[question]
    assert next(iter(ways)) == "tracekit"
    assert len(ways) > 1
    intervals.check(ways)


def test_a_way_that_answers_otherwise_is_named() -> None:
    with pytest.raises(ValueError, match="other does not answer as one does"):
        intervals.check({"one": lambda: [1, 2], "other": lambda: [1, 3]})
    with pytest.raises(ValueError, match="other does not answer as one does"):
        intervals.check({"one": lambda: [1, 2], "other": lambda: [1]})


def test_a_run_prints_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    intervals.main(["--count=500", "--rounds=2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(len(ways) for ways in intervals.questions(500).values())
    assert all(" ms [" in line for line in lines)
