"""Real exports, removed: every table that could be read before is the same afterwards."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.cache import to_put_away
from tracekit.tables.exports import identify, note_put_away
from tracekit.tables.place import Choice
from tracekit.tables.tables import Tables

pytestmark = pytest.mark.corpus
LARGEST = 3_000_000  # bytes of a folder; larger ones take a test too long


def folders(corpus: Path) -> list[Path]:
    found = {
        path.parent
        for path in corpus.rglob("*.xml")
        if ".trace" not in str(path.relative_to(corpus)) and identify(path).kind == "tables"
    }
    return [
        one for one in sorted(found) if sum(x.stat().st_size for x in one.glob("*.xml")) < LARGEST
    ]


def flat(folder: Path, cache: Path) -> dict[tuple[str, str], pd.DataFrame]:
    """Return all tables that can be read, by schema and place."""
    tables, found = Tables(folder, cache=cache), dict[tuple[str, str], pd.DataFrame]()
    for schema in tables.schemas:
        for one in tables.listed(schema):
            try:
                kept = tables.flat(schema, Choice(one.place.run, one.place.index))
            except InputError:
                continue
            found[schema, str(one)] = kept.part()
    return found


def test_no_table_changes_when_its_export_is_removed(corpus: Path, tmp_path: Path) -> None:
    removed = compared = 0
    for number, source in enumerate(folders(corpus)):
        folder, cache = tmp_path / str(number), tmp_path / f"{number}-kept"
        folder.mkdir()
        for path in source.glob("*.xml"):
            shutil.copyfile(path, folder / path.name)
        before = flat(folder, cache)
        away, stays = to_put_away(folder, cache, "2026-11-22T00:00:00+00:00")
        note_put_away(folder, *away)
        for one in away:
            (folder / one.name).unlink()
        assert not {path.name for path in stays} & {one.name for one in away}
        after = flat(folder, cache)
        assert [*after] == [*before], source
        for key, frame in before.items():
            pd.testing.assert_frame_equal(after[key], frame)
        removed, compared = removed + len(away), compared + len(before)
    assert removed > 20, "nothing was put to the test"
    assert compared > 20
