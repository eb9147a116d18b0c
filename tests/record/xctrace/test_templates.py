"""Templates: what there is, and copies that differ in the settings alone; hostile ones refused."""

import plistlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recording_fakes import archive, binary, xcode
from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.record.xctrace import templates
from tracekit.record.xctrace.template_archive import read_template

UID = plistlib.UID
BOTH = {"counterprofile": 0, "counterprofileinternal": 0}
PROFILES = (*BOTH, "counterscounterprofile")
SHADERS = {"shaderprofiler": False, "shaderprofilerinternal": False}
SETTINGS = {**BOTH, "counterscounterprofile": 0, **SHADERS, "induced": 0, "enabled": False}
OTHER = {"interval": 1000, "enabled": False, "type": "time profiler"}
Values = dict[str, Any]
Template = Callable[..., Path]


def read_dictionaries(content: bytes) -> list[Values]:
    """Read the dictionaries of an archive back, without the code under test."""
    objects = plistlib.loads(content)["$objects"]
    rows = [value for value in objects if isinstance(value, dict) and "NS.keys" in value]
    pairs = [zip(row["NS.keys"], row["NS.objects"], strict=True) for row in rows]
    return [{objects[key.data]: objects[value.data] for key, value in pair} for pair in pairs]


@pytest.fixture
def template(tmp_path: Path) -> Template:
    """Write a template file of some dictionaries or bytes, by default a small one."""

    def make(*content: Any) -> Path:
        path = tmp_path / "Metal System Trace.tracetemplate"
        is_raw = isinstance(content[0] if content else None, bytes)
        path.write_bytes(content[0] if is_raw else archive(*(content or (SETTINGS, OTHER))))
        return path

    return make


@pytest.mark.parametrize(
    ("profile", "shaders", "expected"),
    [
        (13, None, dict.fromkeys(PROFILES, 13)),
        (13, True, dict.fromkeys(PROFILES, 13) | dict.fromkeys(SHADERS, True)),
        (None, False, SHADERS),
    ],
)
def test_a_copy_differs_in_the_settings_alone(
    *, profile: int | None, shaders: bool | None, expected: Values,
    template: Template, tmp_path: Path,
) -> None:  # fmt: skip
    source, output = template(), tmp_path / "new" / "mine.tracetemplate"
    original_content = source.read_bytes()
    changes, content = templates.draft(source, output, profile, shaders)
    assert {change.key: change.new_value for change in changes} == expected
    assert all(change.place == f"object {change.holder}: {change.key}" for change in changes)
    assert not output.parent.exists()
    assert templates.write(output, content) == output
    assert source.read_bytes() == original_content
    dictionaries = read_dictionaries(output.read_bytes())
    assert repr(dictionaries) == repr([SETTINGS | expected, OTHER])  # True is not 1 here


def test_a_setting_in_several_places_is_changed_in_all(template: Template) -> None:
    source_template = read_template(template(BOTH, {**BOTH, "counterprofile": 3}))
    changes = source_template.changes(dict.fromkeys(BOTH, 13))
    assert [change.old_value for change in changes] == [0, 0, 3, 0]
    assert (
        read_dictionaries(source_template.apply_changes(changes)) == [dict.fromkeys(BOTH, 13)] * 2
    )


def test_a_value_that_is_there_already_is_listed_as_well(template: Template) -> None:
    changes = read_template(template(BOTH)).changes(dict.fromkeys(BOTH, 0))
    assert [(change.old_value, change.new_value) for change in changes] == [(0, 0), (0, 0)]


def test_an_unknown_structure_is_left_alone(template: Template) -> None:
    for root, reason in (
        ({"counterprofile": 0}, "no archived dictionary has the key counterprofileinternal"),
        ({**BOTH, "counterprofile": "3"}, "'3', not a whole number"),
        ({**BOTH, "counterprofile": 3.0}, "3.0, not a whole number"),
        ({**BOTH, "counterprofile": False}, "False, not a whole number"),
        ({}, "no archived dictionary has the key counterprofile"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            read_template(template(root)).changes(dict.fromkeys(BOTH, 13))
        assert "File > Save As Template" in caught.value.hint, root
    with pytest.raises(InputError, match="0, not on or off"):
        read_template(template(BOTH)).changes({"counterprofile": True})


def test_the_profile_asked_for(template: Template) -> None:
    for expected, *root in (
        (0, BOTH),
        (13, {**BOTH, "counterprofile": 13}),
        (None, {"a": 1}),
        (None, {"counterprofile": 3}, {"counterprofile": 13}),
        (None, {"counterprofile": True}),
    ):
        assert read_template(template(*root)).counter_profile() == expected


@pytest.mark.parametrize("shaders", [None, False, True])
@pytest.mark.parametrize("profile", [None, 3, 13])
@pytest.mark.parametrize("name", ["Argent", "AllocVMTrackerAuto3s"])
def test_real_templates_change_in_the_settings_alone(
    *, name: str, profile: int | None, shaders: bool | None, corpus: Path, tmp_path: Path
) -> None:
    source, output = corpus / "templates" / f"{name}.tracetemplate", tmp_path / "x.tracetemplate"
    if profile is None and shaders is None:
        with pytest.raises(UsageError, match="Nothing is to be changed"):
            templates.draft(source, output, profile, shaders)
        return
    _, content = templates.draft(source, output, profile, shaders)
    wanted_values: Values = {}
    if profile is not None:
        wanted_values |= dict.fromkeys(PROFILES, profile)
    if shaders is not None:
        wanted_values |= dict.fromkeys((*SHADERS, "countersshaderprofiler"), shaders)
    old_dictionaries, new_dictionaries = resolve_all(source.read_bytes()), resolve_all(content)
    assert len(old_dictionaries) == len(new_dictionaries)
    for old, new in zip(old_dictionaries, new_dictionaries, strict=True):
        changed_values = {key: wanted_values[key] for key in old if key in wanted_values}
        assert repr(new) == repr(old | changed_values)


def resolve_all(content: bytes) -> list[Values]:
    """Return the dictionaries of an archive by the names of their keys."""
    objects = plistlib.loads(content)["$objects"]
    dictionaries: list[Values] = []
    for row in objects:
        if isinstance(row, dict) and "NS.keys" in row:
            pairs = zip(row["NS.keys"], row["NS.objects"], strict=True)
            dictionaries.append({str(objects[key.data]): objects[at.data] for key, at in pairs})
    return dictionaries


def write_references(value: Any) -> Any:
    """Return a property list whose references are dictionaries, as plutil writes them in XML."""
    if isinstance(value, UID):
        return {"CF$UID": value.data}
    if isinstance(value, list):
        return [write_references(member) for member in value]
    if isinstance(value, dict):
        return {key: write_references(member) for key, member in value.items()}
    return value


def test_a_template_as_xml_is_read(template: Template, tmp_path: Path) -> None:
    as_xml = plistlib.dumps(write_references(plistlib.loads(template().read_bytes())))
    _, content = templates.draft(template(as_xml), tmp_path / "x.tracetemplate", 13, None)
    assert read_dictionaries(content)[0] == SETTINGS | dict.fromkeys(PROFILES, 13)


def archive_objects(*objects: Any) -> bytes:
    row = ["$null", "key", 7, *objects]
    return binary({"$archiver": "NSKeyedArchiver", "$top": {"root": UID(3)}, "$objects": row})


def test_other_files_are_not_templates(template: Template) -> None:
    for content, reason in (
        (b"", "not a property list"),
        (b"{ archiver = 1; }", "not a property list"),
        (plistlib.dumps({"$archiver": "NSKeyedArchiver"}), "not a keyed archive"),
        (b"<?xml version='1.0'?><plist><dict><key>", "not a whole property list"),
        (b"bplist00" + b"\xff" * 40, "not a whole property list"),
        (binary([1, 2]), "not a keyed archive"),
        (binary({"$archiver": "NSArchiver", "$objects": []}), "not a keyed archive"),
        (binary({"$archiver": "NSKeyedArchiver", "$objects": {}}), "not a keyed archive"),
        (
            archive_objects({"NS.keys": [UID(1)], "NS.objects": [UID(99)]}),
            "points at object 99 of 4",
        ),
        (archive_objects({"NS.keys": [UID(4)], "NS.objects": [UID(2)]}), "points at object 4 of 4"),
        (archive_objects({"NS.keys": [7], "NS.objects": [UID(2)]}), "in the place of a reference"),
        (archive_objects({"NS.keys": [UID(1)], "NS.objects": []}), "dictionary 3 do not pair"),
        (archive_objects({"NS.keys": [UID(1)]}), "dictionary 3 has no lists"),
    ):
        with pytest.raises(InputError, match=reason):
            list(read_template(template(content)).entries())


def test_damage_anywhere_is_a_sentence_or_does_no_harm(template: Template) -> None:
    content, refused = archive(BOTH), 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x5A
        try:
            list(read_template(template(bytes(damaged))).entries())
        except InputError:
            refused += 1
    assert refused > len(content) / 10


def test_a_draft_that_makes_no_sense_is_refused(template: Template, tmp_path: Path) -> None:
    source, link = template(), tmp_path / "link.tracetemplate"
    link.symlink_to(tmp_path / "nowhere")
    for output, profile, reason in (
        (tmp_path / "a.tracetemplate", None, "Nothing is to be changed"),
        (tmp_path / "a.xml", 1, "must end in .tracetemplate"),
        (source, 1, "never written over"),
        (link, 1, "never written over"),
    ):
        with pytest.raises(UsageError, match=reason):
            templates.draft(source, output, profile, None)
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match="cannot be written"):
        templates.write(tmp_path / "file" / "x.tracetemplate", b"")


def test_templates_are_found_by_their_exact_name(tmp_path: Path) -> None:
    contents, home = tmp_path / "Xcode beta.app" / "Contents", tmp_path / "home"
    packages = contents / "Applications" / "Instruments.app" / "Contents" / "Packages"
    of_user = home / "Library" / "Application Support" / "Instruments" / "Templates"
    for folder, name in (
        (packages / "GPU.instrdst" / "Contents" / "Templates", "Metal System Trace"),
        (packages / "Base.instrdst" / "Contents" / "Templates", "Blank"),
        (of_user, "Blank"),
    ):
        folder.mkdir(parents=True)
        (folder / f"{name}.tracetemplate").touch()
    (of_user / "notes.txt").touch()
    files = templates.template_files(home, str(contents / "Developer" / "usr" / "bin" / "xctrace"))
    assert [file.stem for file in files] == ["Blank", "Blank", "Metal System Trace"]
    assert templates.template_file("Metal System Trace", files) == files[2]
    listed_files = f"Xcode: {files[0]}, {files[1]}"
    for name, message in (
        ("Metal System", r"^No template .* Xcode\.$"),
        ("Blank", f"^2 .*{listed_files}"),
    ):
        with pytest.raises(UsageError, match=message):
            templates.template_file(name, files)


def test_templates_listed_by_xctrace(tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases: tuple[tuple[dict[str, str], str, bool], ...] = (
        ({}, "Metal GPU Counters", True),
        ({"instruments": "== Standard Instruments ==\nHangs\n"}, "", True),
        ({"help": "--template"}, "", True),
        ({"templates": "== Standard Templates ==\nBlank\n"}, "Metal GPU Counters", False),
        ({"templates": "Blank, Metal System Trace\n"}, "Metal GPU Counters", False),
    )
    for answers, counters, metal in cases:
        with subtests.test(said=answers):
            overview = templates.overview(xcode(**answers), tmp_path)
            assert (overview.gpu_counters, overview.metal_system_trace) == (counters, metal)
            assert len(overview.remarks) == (1 if metal else 2)
            assert ("--template PATH" in overview.remarks[-1]) is not bool(counters)
            assert metal or ("in a form that is known" in overview.remarks[0]) is not bool(
                overview.sections
            )
    listed = ["Metal System Trace", "Time Profiler"]
    sections = templates.overview(xcode(), tmp_path).sections
    assert sections == {"Standard Templates": listed, "User Templates": ["mine"]}
