"""A template is made as a copy: shown first, written once, never over a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import RecordingError, UsageError
from tracekit.record.xctrace.templates.settings import Archive, Wish, draft, read_template, write

WISH = Wish(counter_profile=13, shader_timeline=True)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "new" / "mine.tracetemplate"


def test_a_draft_writes_nothing(template: Path, output: Path) -> None:
    before = template.read_bytes()
    made = draft(template, output, WISH)
    assert [one.key for one in made.changes] == [
        "counterprofile",
        "counterprofileinternal",
        "shaderprofiler",
        "shaderprofilerinternal",
    ]
    assert not output.parent.exists()
    assert template.read_bytes() == before


def test_the_copy_differs_in_the_settings_alone(
    template: Path, output: Path, plain: Callable[[Archive], Any]
) -> None:
    before = template.read_bytes()
    assert write(draft(template, output, WISH)) == output
    assert template.read_bytes() == before
    old, new = plain(read_template(template)), plain(read_template(output))
    settings = new["instruments"][0]["options"]["settings"]
    assert settings["counterprofile"] == settings["counterprofileinternal"] == 13
    assert settings["shaderprofiler"] is settings["shaderprofilerinternal"] is True
    assert settings["enabled"] is False
    new["instruments"][0]["options"]["settings"] = old["instruments"][0]["options"]["settings"]
    assert new == old


@pytest.mark.parametrize("wish", [Wish(), Wish(None, None)])
def test_nothing_to_change_is_a_usage_error(template: Path, output: Path, wish: Wish) -> None:
    with pytest.raises(UsageError, match="Nothing is to be changed"):
        draft(template, output, wish)


def test_a_template_is_never_written_over(template: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tracetemplate"
    other.write_text("mine")
    link = tmp_path / "link.tracetemplate"
    link.symlink_to(tmp_path / "nowhere")
    for existing in (template, other, link):
        with pytest.raises(UsageError, match="never written over"):
            draft(template, existing, WISH)
    assert other.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_said(template: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = draft(template, tmp_path / "file" / "x.tracetemplate", WISH)
    with pytest.raises(RecordingError, match="cannot be written"):
        write(made)
