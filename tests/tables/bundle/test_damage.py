"""Every file of a bundle removed, cut and changed: what is read is right, the rest is refused.

The cases are the same in every run; `bench/fuzz_bundles.py` tries as many as are asked for.
"""

import shutil
from pathlib import Path

import pytest

from bundle_writer.examples import small_bundle
from fuzzing.bundle_campaign import Tally, each, run
from fuzzing.bundle_damage import copied, files_of
from fuzzing.bundles import told

RANDOM = range(100)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_bundle(tmp_path / "small.trace")


def test_a_whole_bundle_is_read_whole(bundle: Path) -> None:
    found = told(bundle)
    assert (found.refused, found.unread) == ("", {})
    assert [rows.num_rows for rows, _ in found.tables.values()] == [3, 2, 2]


def test_each_file_away_or_cut_is_told_in_words(bundle: Path) -> None:
    names = files_of(bundle)
    tally = each(bundle)
    assert tally.findings == []
    assert tally.counts.total() == 5 * len(names)
    assert tally.counts["refused"] > 2
    assert tally.counts["in part"] > 50
    assert files_of(bundle) == names


def test_changes_at_random_are_told_in_words_or_change_nothing(bundle: Path) -> None:
    tally = run(bundle, RANDOM)
    assert tally.findings == []
    assert tally.counts.total() == len(RANDOM)
    assert tally.counts["in part"] > 30
    assert tally.slowest < 5


def test_a_flipped_bit_of_the_records_is_always_noticed(bundle: Path) -> None:
    path = bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore"
    whole, content = told(bundle, (1, 0)), path.read_bytes()
    for bit in range(0, 8 * 220, 23):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert told(bundle, (1, 0)).untrue_of(whole) == [], bit


def test_a_bundle_without_its_document_still_has_its_tables(bundle: Path) -> None:
    (bundle / "form.template").unlink()
    shutil.rmtree(bundle / "symbols")
    found = told(bundle)
    assert (found.refused, found.unread) == ("", {})
    assert [rows.num_rows for rows, _ in found.tables.values()] == [3, 2, 2]


@pytest.mark.corpus
def test_damage_to_a_real_table_is_told_in_words(corpus: Path, tmp_path: Path) -> None:
    real = corpus / "Oichkatzelesfrettschen+steinmarder/_history_8227983/gpu_baseline.trace"
    bundle = copied(real, tmp_path / "real.trace")
    core = "corespace/run1/core"
    for number in range(114):
        if number not in {45, 77, 89}:  # processes and threads have their names from two tables
            shutil.rmtree(bundle / core / f"stores/indexed-store-{number}")
    names = [
        *(name for name in files_of(bundle) if "indexed-store-77" in name),
        *(f"{core}/uniquing/{name}" for name in ("strings", "EngineeringTypes.etypes")),
        *(name for name in files_of(bundle) if "run1" in name and "integeruniquer" in name),
    ]
    tally: Tally = run(bundle, range(30), only=(1, 77), names=names)
    assert tally.findings == []
    assert tally.counts["in part"] > 15
