"""Small bundles that would take gigabytes: they are refused, or read in bounded memory and time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.campaign

BENCH = Path(__file__).parents[3] / "bench"
MOST_MIB, MOST_SECONDS = 1024, 20
# All but some seconds of the others that end alike.
WORDS = "/bulkstore /strings form rows array text varied itself 1,000 name schema settings parts"


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, object]]:
    """What became of most of them, each read in a process of its own."""
    command = [sys.executable, BENCH / "bundle_bombs.py", *WORDS.split()]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["bomb"]: one for one in found}


def test_each_ends_in_words_or_tables(measured: dict[str, dict[str, object]]) -> None:
    assert len(measured) > 20
    assert [name for name, one in measured.items() if not one["outcome"]] == []
    assert {name for name, one in measured.items() if one["outcome"] == "read"} == {
        "zeroes in form.template",
        "a long name of 20,000 threads",
        "long settings",
    }


def test_none_takes_more_memory_or_time_than_is_stated(
    measured: dict[str, dict[str, object]],
) -> None:
    assert [name for name, one in measured.items() if one["mib"] > MOST_MIB] == []
    assert [name for name, one in measured.items() if one["seconds"] > MOST_SECONDS] == []
