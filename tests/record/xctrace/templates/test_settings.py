"""Every place of a setting is found, and an unknown structure is left alone."""

import plistlib
from collections.abc import Callable
from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.record.xctrace.templates.settings import (
    Archive,
    Change,
    Wish,
    changes,
    counter_profile,
    read_archive,
    with_values,
)

UID = plistlib.UID
Keyed = Callable[..., dict[str, Any]]
BOTH = {"counterprofile": 0, "counterprofileinternal": 0}


def read(plist: dict[str, Any]) -> Archive:
    return read_archive("a.tracetemplate", plistlib.dumps(plist, fmt=plistlib.FMT_BINARY))


def told(found: tuple[Change, ...]) -> list[tuple[str, Any, Any]]:
    return [(one.key, one.before, one.after) for one in found]


def changed(archive: Archive, found: tuple[Change, ...]) -> Archive:
    return with_values(archive, {(one.holder, one.position): one.after for one in found})


def test_the_counter_profile_stands_in_two_places(archive: Archive) -> None:
    found = changes(archive, Wish(counter_profile=13))
    assert told(found) == [
        ("counterprofile", 0, 13),
        ("counterprofileinternal", 0, 13),
    ]


def test_the_shader_timeline_is_switched_on_and_off(archive: Archive) -> None:
    on = changes(archive, Wish(shader_timeline=True))
    assert told(on) == [
        ("shaderprofiler", False, True),
        ("shaderprofilerinternal", False, True),
    ]
    off = changes(changed(archive, on), Wish(shader_timeline=False))
    assert [(before, after) for _, before, after in told(off)] == [(True, False)] * 2


def test_only_what_was_wished_for_is_changed(
    archive: Archive, plain: Callable[[Archive], Any]
) -> None:
    wish = Wish(counter_profile=13, shader_timeline=True)
    after = plain(changed(archive, changes(archive, wish)))
    expected = plain(archive)
    expected["instruments"][0]["options"]["settings"] |= {
        "counterprofile": 13,
        "counterprofileinternal": 13,
        "shaderprofiler": True,
        "shaderprofilerinternal": True,
    }
    assert repr(after) == repr(expected)  # True is not 1 here


def test_a_setting_in_several_places_is_changed_in_all(
    keyed: Keyed, plain: Callable[[Archive], Any]
) -> None:
    archive = read(keyed([BOTH, {"deeper": {**BOTH, "counterprofile": 3}}]))
    found = changes(archive, Wish(counter_profile=13))
    assert len({one.holder for one in found}) == 2
    assert [one.before for one in found] == [0, 0, 3, 0]
    written = {"counterprofile": 13, "counterprofileinternal": 13}
    assert plain(changed(archive, found)) == [written, {"deeper": written}]


@pytest.mark.parametrize(
    ("root", "why"),
    [
        pytest.param({}, "no archived dictionary has the key counterprofile", id="nothing"),
        pytest.param(
            {"counterprofile": 0},
            "no archived dictionary has the key counterprofileinternal",
            id="one-of-two",
        ),
        pytest.param({**BOTH, "counterprofile": "3"}, "'3', not a whole number", id="text"),
        pytest.param({**BOTH, "counterprofile": 3.0}, "3.0, not a whole number", id="decimal"),
        pytest.param({**BOTH, "counterprofile": False}, "False, not a whole number", id="flag"),
        pytest.param({**BOTH, "counterprofile": {}}, "not a whole number", id="dictionary"),
        pytest.param(
            ["counterprofile", "counterprofileinternal"], "no archived dictionary", id="values"
        ),
    ],
)
def test_an_unknown_structure_is_left_alone_with_a_way_by_hand(
    keyed: Keyed, root: Any, why: str
) -> None:
    with pytest.raises(InputError, match="not built in the way that is known") as caught:
        changes(read(keyed(root)), Wish(counter_profile=13))
    assert why in caught.value.message
    assert "File > Save As Template" in caught.value.hint


def test_a_dictionary_that_nothing_points_at_is_changed_and_said(keyed: Keyed) -> None:
    plist = keyed({"name": "a"})
    keys = [len(plist["$objects"]), len(plist["$objects"]) + 1]
    plist["$objects"] += ["counterprofile", "counterprofileinternal", 0]
    value = UID(len(plist["$objects"]) - 1)
    plist["$objects"].append({"NS.keys": [UID(key) for key in keys], "NS.objects": [value] * 2})
    found = changes(read(plist), Wish(counter_profile=13))
    assert found[0].place == f"object {len(plist['$objects']) - 1}: counterprofile"


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param(BOTH, 0, id="the-default"),
        pytest.param({**BOTH, "counterprofile": 13}, 13, id="patched"),
        pytest.param({}, None, id="none"),
        pytest.param([{"counterprofile": 3}, {"counterprofile": 13}], None, id="two-answers"),
        pytest.param({"counterprofile": True}, None, id="no-number"),
    ],
)
def test_a_template_tells_which_profile_it_asks_for(
    keyed: Keyed, root: Any, expected: int | None
) -> None:
    assert counter_profile(read(keyed(root))) == expected
