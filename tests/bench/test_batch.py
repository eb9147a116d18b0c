"""The benchmark of batches, without its cluster."""

from pathlib import Path

import batch
from tracekit.fleet.batch.sources import sources_of


def test_it_makes_recordings_that_are_not_alike(tmp_path: Path) -> None:
    size = batch.made(tmp_path, 3)
    assert [one.place.base for one in sources_of([str(tmp_path)])] == ["00000", "00001", "00002"]
    tocs = {(one / "exports" / "toc.xml").read_text() for one in tmp_path.iterdir()}
    assert len(tocs) == 3
    assert size > 100_000


def test_ratios_are_those_of_one_round() -> None:
    rounds = [batch.Round(10.0, 5.0, 6.0), batch.Round(20.0, 16.0, 16.0), batch.Round(9, 6, 9)]
    assert batch.told(rounds, 100)[:4] == [
        "one worker             10.00 recordings per s (5.00 to 11.11)",
        "two workers            16.67 recordings per s (6.25 to 20.00)",
        "two against one         1.50 times as fast (1.25 to 2.00)",
        "one of two killed       1.20 times as long (1.00 to 1.50)",
    ]
