import pytest

from tracekit.base.errors import UsageError
from tracekit.lab.verification.metal_file import constant, pairs, triple, whole


def test_pairs_keep_their_order_and_what_follows_the_first_sign() -> None:
    assert pairs(["a=1", "b = x=y"], "--define") == {"a": "1", "b": "x=y"}
    assert pairs([], "--define") == {}


@pytest.mark.parametrize("words", [["a"], ["=1"], ["a="], ["a=1", "a=2"]])
def test_what_is_no_pair_is_told(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--constant"):
        pairs(words, "--constant")


@pytest.mark.parametrize(
    ("words", "sizes"),
    [("256", (256, 1, 1)), ("8, 4", (8, 4, 1)), ("8,4,2", (8, 4, 2)), ("007", (7, 1, 1))],
)
def test_sizes_that_are_left_out_are_one(words: str, sizes: tuple[int, int, int]) -> None:
    assert triple(words, "--grid") == sizes


@pytest.mark.parametrize(
    "words", [" ", "0", "-1", "8,,2", "1,2,3,4", "x", "1.5", "9999999999", "٣,"]
)
def test_what_is_no_size_is_told(words: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        triple(words, "--grid")


def test_whole_numbers() -> None:
    assert whole("4096") == 4096
    for word in ("", "-1", "1.0", "x"):
        with pytest.raises(UsageError, match="is no whole number"):
            whole(word)


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("false", False), ("7", 7), ("-3", -3), ("0x10", 16), ("1.5", 1.5)],
)
def test_constants_have_the_type_that_they_look_like(word: str, value: float) -> None:
    assert constant(word) == value
    assert type(constant(word)) is type(value)


@pytest.mark.parametrize("word", ["yes", "1.2.3", "1,5", "0x"])
def test_what_is_no_constant_is_told(word: str) -> None:
    with pytest.raises(UsageError, match="function constant"):
        constant(word)
