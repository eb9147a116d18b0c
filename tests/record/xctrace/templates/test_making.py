"""A template is made as a copy: shown first, written once, never over a file."""

import os
import plistlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.record.xctrace.templates.archive import Archive, read_archive
from tracekit.record.xctrace.templates.settings import Wish, draft, read_template, write

WISH = Wish(counter_profile=13, shader_timeline=True)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "new" / "mine.tracetemplate"


def test_a_draft_writes_nothing(template: Path, output: Path) -> None:
    before = template.read_bytes()
    made = draft(template, output, WISH)
    assert [one.key for one in made.changes.changes] == [
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


def test_the_copy_is_a_binary_archive_that_keeps_its_objects(template: Path, output: Path) -> None:
    write(draft(template, output, Wish(counter_profile=3)))
    content = output.read_bytes()
    assert content.startswith(b"bplist00")
    before, after = plistlib.loads(template.read_bytes()), plistlib.loads(content)
    assert {key: after[key] for key in after if key != "$objects"} == {
        key: before[key] for key in before if key != "$objects"
    }
    assert after["$objects"][-2:] == [3, 3]
    assert len(after["$objects"]) == len(before["$objects"]) + 2


def test_a_copy_can_be_made_of_a_copy(template: Path, output: Path, tmp_path: Path) -> None:
    write(draft(template, output, Wish(counter_profile=3)))
    again = draft(output, tmp_path / "again.tracetemplate", Wish(counter_profile=13))
    assert [one.before for one in again.changes.changes] == [3, 3]


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


def test_a_file_that_came_up_meanwhile_is_kept(template: Path, output: Path) -> None:
    made = draft(template, output, WISH)
    output.parent.mkdir()
    output.write_text("mine")
    with pytest.raises(UsageError, match="never written over"):
        write(made)
    assert output.read_text() == "mine"


def test_a_name_without_the_suffix_is_refused(template: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.tracetemplate"):
        draft(template, tmp_path / "mine", WISH)


def test_a_folder_that_cannot_be_written_is_said(template: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = draft(template, tmp_path / "file" / "x.tracetemplate", WISH)
    with pytest.raises(RecordingError, match="cannot be written"):
        write(made)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "cannot be read: No such file", id="absent"),
        pytest.param(b"", "not a binary property list", id="empty"),
        pytest.param(b"bplist00", "not a whole property list", id="cut-off"),
        pytest.param(plistlib.dumps({}, fmt=plistlib.FMT_BINARY), "no template", id="other"),
    ],
)
def test_what_is_no_template_is_said_with_its_path(
    tmp_path: Path, output: Path, content: bytes | None, said: str
) -> None:
    source = tmp_path / "bad.tracetemplate"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        draft(source, output, WISH)
    assert str(source) in caught.value.message
    assert not output.exists()


def test_a_file_without_end_is_not_read(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "huge.tracetemplate"
    source.touch()
    os.truncate(source, 1 << 40)
    with pytest.raises(InputError, match="larger than any template"):
        draft(source, output, WISH)


def test_the_written_copy_reads_back(template: Path, output: Path) -> None:
    made = draft(template, output, WISH)
    assert read_archive("a", made.content).plist["$archiver"] == "NSKeyedArchiver"
    write(made)
    assert output.read_bytes() == made.content
