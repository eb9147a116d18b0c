"""Keyed archives as plain property lists: read, edited, written; hostile ones refused."""

import plistlib
from collections.abc import Callable
from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.record.xctrace.templates.settings import (
    Archive,
    entries,
    read_archive,
    with_values,
)

Keyed = Callable[..., dict[str, Any]]
UID = plistlib.UID


def binary(plist: Any) -> bytes:
    return plistlib.dumps(plist, fmt=plistlib.FMT_BINARY, sort_keys=False)


def test_entries_of_all_dictionaries_are_found_in_order(archive: Archive) -> None:
    names = [entry.key for entry in entries(archive)]
    assert names[:2] == ["name", "instruments"]
    assert names.count("enabled") == 2
    assert names.count("type") == 2
    values = {entry.key: entry.value for entry in entries(archive)}
    assert values["counterprofile"] == 0
    assert values["shaderprofiler"] is False
    assert values["name"] == "Metal System Trace"


def test_a_changed_value_leaves_those_that_share_it_alone(
    archive: Archive, plain: Callable[[Archive], Any]
) -> None:
    before = plain(archive)
    spot = next(one for one in entries(archive) if one.key == "counterprofile")
    after = plain(with_values(archive, {(spot.holder, spot.position): 13}))
    settings = after["instruments"][0]["options"]["settings"]
    assert settings["counterprofile"] == 13
    assert settings["counterprofileinternal"] == settings["inducedperformancestate"] == 0
    settings["counterprofile"] = 0
    assert after == before
    assert plain(archive) == before


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"bplist", id="cut-off"),
        pytest.param(plistlib.dumps({"$archiver": "NSKeyedArchiver"}), id="xml"),
        pytest.param(
            b'<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>'
            b"<plist><string>&b;</string></plist>",
            id="entities",
        ),
    ],
)
def test_what_is_not_binary_is_refused_with_the_way_to_convert_it(content: bytes) -> None:
    with pytest.raises(InputError, match="not a binary property list") as caught:
        read_archive("a.tracetemplate", content)
    assert "plutil -convert binary1" in caught.value.hint


@pytest.mark.parametrize(
    "plist",
    [
        pytest.param([1, 2], id="a-list"),
        pytest.param({"a": 1}, id="a-dictionary"),
        pytest.param({"$archiver": "NSArchiver", "$top": {}, "$objects": []}, id="another"),
        pytest.param({"$archiver": "NSKeyedArchiver", "$top": {}}, id="no-objects"),
        pytest.param({"$archiver": "NSKeyedArchiver", "$top": {}, "$objects": {}}, id="odd-row"),
    ],
)
def test_a_property_list_that_is_no_archive_is_refused(plist: Any) -> None:
    with pytest.raises(InputError, match="not a keyed archive"):
        read_archive("a.tracetemplate", binary(plist))


def with_object(*objects: Any) -> bytes:
    row = ["$null", "key", 7, *objects]
    top = {"root": UID(3)}
    return binary({"$archiver": "NSKeyedArchiver", "$top": top, "$objects": row})


@pytest.mark.parametrize(
    "one",
    [
        pytest.param({"NS.keys": [UID(1)], "NS.objects": [UID(99)]}, id="value"),
        pytest.param({"NS.keys": [UID(99)], "NS.objects": [UID(2)]}, id="key"),
    ],
)
def test_a_reference_to_nowhere_is_refused(one: Any) -> None:
    with pytest.raises(InputError, match="points at object 99 of 4"):
        list(entries(read_archive("a", with_object(one))))


@pytest.mark.parametrize(
    "one",
    [
        pytest.param({"NS.keys": [UID(1)], "NS.objects": []}, id="too-few"),
        pytest.param({"NS.keys": [UID(1)]}, id="none"),
        pytest.param({"NS.keys": UID(1), "NS.objects": UID(2)}, id="no-rows"),
    ],
)
def test_keys_without_values_are_refused(one: Any) -> None:
    with pytest.raises(InputError, match="keys and values of the dictionary 3 do not pair"):
        list(entries(read_archive("a", with_object(one))))


def test_damage_anywhere_is_a_sentence_or_does_no_harm(keyed: Keyed) -> None:
    content = binary(keyed())
    refused = 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x5A
        try:
            list(entries(read_archive("a", bytes(damaged))))
        except InputError:
            refused += 1
    assert refused > len(content) / 10
