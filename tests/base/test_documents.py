"""JSON documents that somebody else may have written."""

import msgspec
import pytest

from tracekit.base.documents import decode_json


def test_decode_json_returns_a_value_of_its_type() -> None:
    assert decode_json(b'{"a": [1, 2]}', dict[str, list[int]]) == {"a": [1, 2]}


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "", '{"a": "x"}'])
def test_decode_json_has_one_kind_of_error_for_all_bad_content(content: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_json(content, dict[str, int])
