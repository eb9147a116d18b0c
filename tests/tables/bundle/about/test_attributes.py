"""Attributes of a table as a table of contents words them."""

from typing import Any

import pytest

from tracekit.tables.bundle.run_info import worded_attributes


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("shader-profiler", True, "1"),
        ("shader-profiler", False, "0"),
        ("frequency", 10, "10"),
        ("target-pid", "ALL", "ALL"),
        ("target", "My App", "My App"),
        ("subsystem", "com.apple.Metal", '"com.apple.Metal"'),
        ("category", "plain1", "plain1"),
        ("codes", ["0x1", "a b", 7], '0x1 "a b" 7'),
        ("codes", [], ""),
    ],
)
def test_values_become_words(key: str, value: Any, text: str) -> None:
    assert worded_attributes({key: value}) == {key: text}


def test_what_is_null_is_left_out() -> None:
    assert worded_attributes({"a": None, "b": 1}) == {"b": "1"}
