"""A bench beside other processes: what is said of whom, and the verdict of `--against`."""

from collections.abc import Iterator

import pytest

from bench_subjects import Hand
from tracekit.lab.bench.company import Company
from tracekit.lab.bench.document import bench_document
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.measure import Effort
from tracekit.lab.bench.run import Settings, run_bench
from tracekit.lab.bench.words import families, remarks, warnings
from tracekit.machine.sources import CpuTime

OURS = 1
MS = 1_000_000


def counts(*shares: tuple[float, float]) -> Iterator[CpuTime]:
    """Yield counts of two cores, a second apart: the cores that others used, and that we did."""
    seconds = other_time = ours = idle = 0.0
    yield CpuTime(seconds, other_time + ours, idle, {OURS: ours})
    for other_cores, own_cores in shares:
        seconds += 1
        other_time += other_cores
        ours += own_cores
        idle += 2 - other_cores - own_cores
        yield CpuTime(seconds, other_time + ours, idle, {OURS: ours})


def test_others_are_named_if_they_left_too_little_for_a_quarter_of_the_time() -> None:
    for shares, words in (
        ([(1.5, 0.5)] * 4, "other processes used 1.5 of 2 cores"),
        ([(1.5, 0.5), *[(0.0, 1.0)] * 3], "other processes used 1.5 of 2 cores"),
        ([(1.5, 0.5), *[(0.0, 1.0)] * 4], ""),
        ([(0.1, 1.9)] * 4, ""),
        ([(0.5, 0.5)] * 4, ""),
        ([(0.4, 1.5)] * 2, "other processes used 0.4 of 2 cores"),
        ([], ""),
    ):
        company = Company(counts(*shares).__next__)
        for _ in shares:
            company.look()
        assert company.describe() == words, shares


def test_readings_of_the_warm_up_are_forgotten() -> None:
    company = Company(counts((1.5, 0.5), (1.5, 0.5), (0.0, 1.0)).__next__)
    company.look()
    company.forget()
    company.look()
    assert company.describe() == ""


@pytest.mark.parametrize("busy", [True, False])
def test_times_on_a_busy_machine_are_marked_and_decide_nothing(*, busy: bool) -> None:
    hand = Hand()
    subjects = (hand.subject("old", 10 * MS), hand.subject("new", 5 * MS))
    next_count = counts(*[(1.5, 0.5) if busy else (0.0, 1.0)] * 100).__next__
    settings = Settings(against="old", effort=Effort(1, 8, 1000))
    done = run_bench(Shape(), settings, subjects=subjects, clock=hand.read, count=next_count)
    [(_, (_, rows))] = families(done)
    assert all(cell.endswith(" (!)") is busy for row in rows for cell in row[1:4])
    warning_text = " ".join(warnings(done))
    assert (
        "decode: other processes used 1.5 of 2 cores while it was measured." in warning_text
    ) is busy
    new = bench_document(done)["rows"][1]
    assert bool(new["disturbed"]) is busy
    assert new["against"]["verdict"] == ("unclear" if busy else "better")
    words = next(iter(remarks(done)))
    if busy:
        assert words.endswith("; other processes used 1.5 of 2 cores meanwhile.")
    else:
        assert words == "new against old is faster by 50.0 % ± 0.0, beyond your limit of 3 %."
