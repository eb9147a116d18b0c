"""What samples of threads tell of idle time, and from how many on."""

import pandas as pd
import pytest

from analysed import MS
from tracekit.analysis.idle.samples import host_words, other_thread, sampled


@pytest.mark.parametrize(
    ("rows", "known", "words"),
    [
        ([("main", "f", 19)], False, ""),
        ([("main", "f", 20)], True, " Meanwhile, of 20 samples of main, 100.0 % in f."),
        ([("main", "", 20)], False, " Meanwhile main ran, by 20 samples; their functions have"),
        ([("main", "", 1), ("main", "f", 19)], False, " Meanwhile, of 20 samples of main, 95.0 %"),
        (
            [("b", "g", 15), ("a", "f", 10), ("a", "h", 9), ("a", "i", 1)],
            True,
            " Meanwhile, of 20 samples of a, 50.0 % in f and 45.0 % in h.",
        ),
    ],
)
def test_twenty_samples_of_the_busiest_thread_tell_what_the_host_did(
    rows: list[tuple[str, str, int]], words: str, *, known: bool
) -> None:
    meanwhile = pd.DataFrame(rows, columns=["thread", "function", "samples"])
    assert sampled(meanwhile) == known
    assert host_words(meanwhile).startswith(words)
    assert bool(host_words(meanwhile)) == bool(words)
    assert (sampled(None), host_words(None), host_words(meanwhile[:0])) == (False, "", "")


@pytest.mark.parametrize(
    ("number", "weight", "tid", "at_work"),
    [
        (20, 0.51, 2, True),
        (20, 0.5, 2, False),  # half of the time in which committed work waits
        (19, 0.9, 2, False),
        (20, 0.9, 1, False),  # the thread that commits
    ],
)
def test_a_thread_that_commits_nothing_is_at_work_while_starts_are_late(
    number: int, weight: float, tid: int, *, at_work: bool
) -> None:
    gaps = pd.DataFrame({"start": [0, 30 * MS], "duration": [20 * MS, 9 * MS]})
    gaps["cause"] = ["late-start", "driver"]
    samples = pd.DataFrame({"time": [at * MS for at in range(number)], "tid": tid, "target": True})
    samples["weight"] = round(weight * 20 * MS / number)
    beside = samples.assign(tid=3, time=samples["time"] + 30 * MS)  # in another gap
    every = pd.concat([samples, beside])
    sent = pd.DataFrame({"tid": [1, 2], "target": [True, False]})
    assert other_thread(gaps, every, sent) == at_work
    assert not other_thread(gaps, None, sent)
    assert not other_thread(gaps, every, sent.drop(columns="tid"))
