"""Exports written as a bundle, and read back: the tables are those of the exports."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bundle_writer import tables_of_exports, write_bundle
from direct_reading import read_directly, read_exported
from labelled.folder import write
from labelled.program import simulate
from labelled.setup import Counters
from small_trace import SETUP

# Of an Xcode of which no bundle was seen; it words threads in another way.
OTHER_WORDS = {"potential-hangs": ["thread"], "time-sample": ["thread"]}


def compare(exports: list[Path], folder: Path, toc: Path | None = None) -> Iterator[str]:
    """Write exports as one bundle, and compare every table; yield their schemas."""
    converted = tables_of_exports(exports, toc)
    tables = read_directly(write_bundle(folder, converted.tables, info=converted.info))
    left_out = {f"{schema}.{name}" for schema, name in converted.left_out}
    for path, table in zip(exports, converted.tables, strict=True):
        expected = read_exported(path)
        names = [
            name
            for name in expected.columns
            if f"{table.schema}.{str(name).removesuffix('.stack')}" not in left_out
        ]
        expected, found = expected[names], tables[table.schema]
        if "xcode-27.0" in path.parts:
            other = OTHER_WORDS.get(table.schema, [])
            expected, found = expected.drop(columns=other), found.drop(columns=other)
        pd.testing.assert_frame_equal(found, expected, obj=str(path))
        yield table.schema


@pytest.mark.campaign
@pytest.mark.corpus
def test_real_exports_come_back_from_a_bundle(corpus: Path, tmp_path: Path) -> None:
    exports = sorted(
        path
        for path in corpus.rglob("*.xml")
        if ".trace" not in str(path.relative_to(corpus)) and not path.stem.endswith("toc")
    )
    done = [
        schema
        for number, path in enumerate(exports)
        for schema in compare([path], tmp_path / f"{number}.trace")
    ]
    assert len(done) == len(exports) > 90
    assert len(set(done)) > 45


@pytest.mark.parametrize("version", ["26.0", "27.0"])
def test_made_exports_come_back_from_a_bundle(version: str, tmp_path: Path) -> None:
    changed = {"counters": Counters(), "allocations": 2, "thermal": "Serious", "steps": 6}
    world = simulate(replace(SETUP, version=version, **changed))
    run = write(world, tmp_path / "run")
    exports = sorted(one for one in run.exports.glob("*.xml") if one.name != "toc.xml")
    done = set(compare(exports, tmp_path / "made.trace", run.toc_file))
    assert len(done) == len(exports) > 15
