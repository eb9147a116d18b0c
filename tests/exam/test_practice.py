"""The practice set has a label for each recording, and can be written and scored."""

import re
from pathlib import Path

import pytest

from practise import PROBLEMS, read_practice_labels
from sealed.exports import COLUMNS

NAMES = sorted(PROBLEMS)


def test_each_recording_has_a_label_with_patterns_that_can_be_read() -> None:
    labels = read_practice_labels()
    assert sorted(labels) == NAMES
    for name, label in labels.items():
        for pattern in (*label.cause, *label.lever, *label.false, *label.foreign):
            assert re.compile(pattern), name
        assert bool(label.cause and label.lever) is not label.healthy, name


@pytest.mark.parametrize("name", ["one-graph-too-many", "wired-after-each-pause"])
def test_a_recording_is_an_export_of_its_process(name: str, tmp_path: Path) -> None:
    PROBLEMS[name](tmp_path / "exports")
    heading = (tmp_path / "exports" / "toc.xml").read_text()
    assert f'name="{read_practice_labels()[name].process}"' in heading
    assert {file.stem for file in (tmp_path / "exports").glob("*.xml")} == {*COLUMNS, "toc"}
