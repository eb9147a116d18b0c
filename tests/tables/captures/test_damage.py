"""Damaged captures: what is read is right, or named, or refused.

The cases are the same in every run; `tests/fuzz/fuzz_captures.py` tries as many as are asked for.
"""

from collections import Counter
from pathlib import Path

from fuzzing.capture_damage import FINDINGS, NAMED, REFUSED, made_subjects


def test_random_damage_is_named_or_refused(tmp_path: Path) -> None:
    (subject,) = made_subjects(tmp_path)
    outcomes = [subject.damage(seed) for seed in range(100)]
    assert [str(outcome) for outcome in outcomes if outcome.ending in FINDINGS] == []
    endings = Counter(outcome.ending for outcome in outcomes)
    assert endings[REFUSED] > 10
    assert endings[NAMED] > 30
    assert len({outcome.kind for outcome in outcomes}) == 8
