"""Damaged bundles, and small ones that would take gigabytes: what is read is right, or refused.

The cases are the same in every run; `tests/fuzz/fuzz_bundles.py` tries as many as are asked for.
`fuzzing.bundle_endings` says how a case may end.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bundle_writer.examples import small_bundle
from fuzzing.bundle_campaign import each, made_subjects, subject_of
from fuzzing.bundle_damage import files_of
from fuzzing.bundle_endings import REFUSED, TOLD
from fuzzing.bundles import told


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_bundle(tmp_path / "small.trace")


def test_a_bundle_is_read_whole_without_its_document_too(bundle: Path) -> None:
    bare_bundle = shutil.copytree(bundle, bundle.with_name("bare.trace"))
    (bare_bundle / "form.template").unlink()
    shutil.rmtree(bare_bundle / "symbols")
    for place in (bundle, bare_bundle):
        outcome = told(place)
        assert (outcome.refused, outcome.unread) == ("", {}), place
        assert [rows.num_rows for rows, _ in outcome.tables.values()] == [3, 2, 2], place


def test_each_missing_or_cut_file_is_reported(bundle: Path) -> None:
    names = files_of(bundle)
    tally = each(bundle)
    assert tally.findings == []
    assert tally.counts.total() == 5 * len(names)
    assert tally.ended(REFUSED) > 2
    assert tally.ended(TOLD) > 50
    assert files_of(bundle) == names


@pytest.mark.campaign
def test_random_changes_are_reported_or_change_nothing(tmp_path: Path) -> None:
    subjects = list(made_subjects(tmp_path))
    outcomes = [subject_of(seed, subjects, ()).case(seed) for seed in range(100)]
    assert [str(outcome) for outcome in outcomes if outcome.is_finding] == []
    assert sum(outcome.ending == TOLD for outcome in outcomes) > 30
    assert len({outcome.kind for outcome in outcomes}) > 12
    assert max(outcome.seconds for outcome in outcomes) < 5


def test_a_flipped_bit_of_the_records_is_always_noticed(bundle: Path) -> None:
    path = bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore"
    whole_outcome, content = told(bundle, [(1, 0)]), path.read_bytes()
    for bit in range(0, 8 * 220, 23):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        outcome = told(bundle, [(1, 0)])
        assert outcome.unread or outcome.tables == whole_outcome.tables, bit


FUZZ = Path(__file__).parents[2] / "fuzz"
# Words in the names of the bombs that are tried; those left out end as one of these does.
BOMBS = "/bulkstore /strings form rows array text varied itself 1,000 name schema settings parts"


@pytest.mark.campaign
def test_bombs_end_in_words_or_tables_in_bounded_memory_and_time() -> None:
    """Each is read in a process of its own."""
    command = [sys.executable, FUZZ / "bundle_bombs.py", *BOMBS.split()]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(measured) > 20
    assert [bomb for bomb in measured if not bomb["outcome"]] == []
    assert {bomb["bomb"] for bomb in measured if bomb["outcome"] == "read"} == {
        "zeroes in form.template",
        "a long name of 20,000 threads",
        "long settings",
    }
    assert [bomb for bomb in measured if bomb["mib"] > 1024 or bomb["seconds"] > 20] == []
