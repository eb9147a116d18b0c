"""JSON documents that somebody else may have written, also in formats of earlier versions."""

import msgspec
import pytest

from tracekit.base.documents import RENAMED_KEYS, decode_json, rename_old_keys


def test_decode_json_returns_a_value_of_its_type() -> None:
    assert decode_json(b'{"a": [1, 2]}', dict[str, list[int]]) == {"a": [1, 2]}


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "", '{"a": "x"}'])
def test_decode_json_has_one_kind_of_error_for_all_bad_content(content: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_json(content, dict[str, int])


NIGHT_OF_FORMAT_1 = """{"id": "n", "warnings": ["contaminated"], "entries": [
    {"capture": "decode", "candidate": {"parameters": {"sitting": 3}}, "pairs": [
        {"sitting": 1, "number": 1, "candidate": {"sitting": [2.0]}, "contaminated": []},
        {"sitting": 2, "number": 1, "candidate": {}, "contaminated": ["on battery"]}]},
    {"capture": "serve", "pairs": []}, {"capture": "prefill"}]}"""
NIGHT_OF_FORMAT_2 = """{"id": "n", "warnings": ["contaminated"], "entries": [
    {"capture": "decode", "candidate": {"parameters": {"sitting": 3}}, "pairs": [
        {"session": 1, "number": 1, "candidate": {"sitting": [2.0]}, "rejections": []},
        {"session": 2, "number": 1, "candidate": {}, "rejections": ["on battery"]}]},
    {"capture": "serve", "pairs": []}, {"capture": "prefill"}]}"""


def test_old_keys_of_a_night_are_renamed_where_they_were_only() -> None:
    renamed = msgspec.json.decode(rename_old_keys(NIGHT_OF_FORMAT_1, "night.json", 1))
    assert renamed == msgspec.json.decode(NIGHT_OF_FORMAT_2)


@pytest.mark.parametrize(
    ("content", "document", "format_number"),
    [
        (NIGHT_OF_FORMAT_1, "night.json", 2),
        (NIGHT_OF_FORMAT_1, "result.json", 1),
        ("[[], 7, {}]", "night.json", 1),
        ('{"entries": [null, {"pairs": "none"}]}', "night.json", 1),
    ],
)
def test_other_documents_stay_as_they_are(content: str, document: str, format_number: int) -> None:
    renamed = msgspec.json.decode(rename_old_keys(content, document, format_number))
    assert renamed == msgspec.json.decode(content)


def test_renamed_keys_have_new_names() -> None:
    assert [key for key in RENAMED_KEYS if key.old == key.new] == []
