"""What comparisons have shown is kept for each build, by the forms of tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.record.direct_reading import Checked, Memory, recall, shape
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import Store, StoreColumn

START = StoreColumn("start", "Start", "XRStartTime", Field(0, 8))
STORE = Store(1, 7, "t", {}, (START,), 5, 16)
EMPTY = replace(STORE, rows=0)


def test_a_table_has_the_form_of_its_columns_whatever_its_number_rows_and_attributes() -> None:
    assert shape(STORE) == shape(replace(EMPTY, number=8, attributes={"a": 1}))
    others = [
        replace(STORE, schema="u"),
        replace(STORE, columns=(START, START)),
        replace(STORE, columns=(replace(START, type_id="XRDuration"),)),
        replace(STORE, columns=(replace(START, field=Field(8, 8)),)),
    ]
    assert len({shape(one) for one in (STORE, *others)}) == 5


@pytest.mark.parametrize(
    ("rows", "difference", "known"), [(5, "", True), (0, "", False), (0, "no", True)]
)
def test_a_comparison_without_rows_says_nothing_of_rows(
    rows: int, difference: str, known: bool
) -> None:
    checked = Checked("t", rows, "now", difference)
    memory = Memory("17C529", {shape(STORE): checked})
    assert memory.of(STORE) == (checked if known else None)
    assert memory.of(EMPTY) == checked
    assert memory.difference(STORE) == difference
    assert memory.of(replace(STORE, schema="u")) is None


@pytest.mark.parametrize("content", ["{", "[]", '{"build": "17C529", "format": 2}'])
def test_what_cannot_be_read_is_forgotten(tmp_path: Path, content: str) -> None:
    (tmp_path / "direct-reading-17C529.json").write_text(content)
    assert recall("17C529", tmp_path) == Memory("17C529")
