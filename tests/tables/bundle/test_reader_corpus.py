"""Every table of a real bundle that has an export beside it: the same frames, row for row."""

from pathlib import Path

import pandas as pd
import pytest

from direct_reading import read_directly, read_exported

pytestmark = pytest.mark.corpus
# Names of symbols are in a part of the bundle that is missing here.
NAMED = {"time-profile": ["stack", "stack.stack"]}


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    return next(corpus.rglob("gpu_baseline.trace")).parent


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, pd.DataFrame]:
    return read_directly(folder / "gpu_baseline.trace")


def test_tables_are_equal_to_their_exports(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    exports = sorted(folder.glob("xctrace_gpu_baseline_*.xml"))
    for path in exports:
        schema = path.stem.rpartition("_")[2]
        expected, found = read_exported(path), tables[schema]
        for name in NAMED.get(schema, []):
            expected, found = expected.drop(columns=name), found.drop(columns=name)
        pd.testing.assert_frame_equal(found, expected, obj=schema)
    assert len(exports) > 10


def test_every_table_is_read(tables: dict[str, pd.DataFrame]) -> None:
    assert len(tables) > 80
    assert len(tables["thread-info"]) == 4167
    assert len(tables["metal-gpu-execution-points"]) == 2520
