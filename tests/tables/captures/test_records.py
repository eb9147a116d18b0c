"""Record streams: each token of the grammar, unknown forms, damage."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from capture_writer import call, stream
from tracekit.tables.captures.records import CallRecord, read_stream

_VALUES = {
    "C": st.integers(0, 2**64 - 1),
    "t": st.integers(0, 2**64 - 1),
    "ul": st.integers(0, 2**64 - 1),
    "uw": st.integers(0, 2**64 - 1),
    "l": st.integers(-(2**63), 2**63 - 1),
    "ui": st.integers(0, 2**32 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "b": st.booleans(),
    "S": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    "U": st.text("0123456789ABCDEF", min_size=1, max_size=16),
    "U<b>": st.text("0123456789ABCDEF", min_size=1, max_size=16),
}
_ARGUMENTS = st.lists(
    st.sampled_from(sorted(_VALUES)).flatmap(
        lambda token: st.tuples(st.just(token), _VALUES[token])
    )
)
_STACKS = st.lists(st.integers(0, 2**64 - 1), max_size=5)


def read_only(*records: bytes) -> CallRecord:
    (record,) = read_stream(stream(records)).records
    return record


@given(_ARGUMENTS, st.one_of(st.none(), st.integers(0, 2**64 - 1)), _STACKS)
def test_any_record_of_the_grammar_is_read_whole(
    arguments: list[tuple[str, object]], result: int | None, stack: list[int]
) -> None:
    signature = "".join(token for token, _ in arguments)
    values = [value for _, value in arguments]
    made = call(
        0xC100, signature, *values, result=None if result is None else ("t", result), stack=stack
    )
    record = read_only(made)
    assert [(part.token, part.value) for part in record.arguments] == arguments
    assert record.result == result
    assert record.stack == tuple(stack)
    assert record.unexplained == 0


def test_an_array_is_one_argument() -> None:
    record = read_only(call(0xC132, "C@3ul@3ul", 1, (2, 3, 4), (5, 6, 7)))
    assert record.list_arrays() == [(2, 3, 4), (5, 6, 7)]


def test_texts_follow_each_other_without_padding() -> None:
    record = read_only(call(0xD80B, "CUUU", 9, "A" * 16, "B" * 15, "C" * 16))
    assert record.list_texts("U") == ["A" * 16, "B" * 15, "C" * 16]
    assert record.unexplained == 0


def test_an_unknown_token_leaves_the_rest_of_its_record_unexplained() -> None:
    known_record = call(0xC017, "C", 5)
    strange = bytearray(call(0xC999, "Cul", 5, 6))
    strange[36:40] = b"Cz\0\0"
    result = read_stream(stream([known_record, bytes(strange), known_record]))
    assert [record.signature for record in result.records] == ["C", "Cz", "C"]
    assert result.damage == ""
    assert result.unexplained == 8


def test_bytes_beyond_a_signature_are_counted() -> None:
    longer = bytearray(call(0xC017, "C", 5)) + bytes(8)
    struct.pack_into("<I", longer, 0, len(longer))
    assert read_only(bytes(longer)).unexplained == 8


def test_reserved_bytes_that_are_set_are_counted() -> None:
    record = bytearray(call(0xC017, "C", 5))
    record[9] = 1
    assert read_only(bytes(record)).unexplained == 24


def test_damage_ends_a_stream_after_its_whole_records() -> None:
    record = call(0xC017, "C", 5)
    for name, content, unexplained in (
        ("cut", stream([record, record])[:-4], len(record) - 4),
        ("a size of 0", stream([record, bytes(40)]), 40),
        ("an odd size", stream([record, b"\x31\0\0\0" + bytes(60)]), 64),
        ("a size beyond the end", stream([record, b"\0\xff\0\0" + bytes(60)]), 64),
    ):
        result = read_stream(content)
        assert len(result.records) == 1, name
        assert result.damage == "is damaged after 1 records", name
        assert result.unexplained == unexplained, name


def test_other_content_is_not_a_stream() -> None:
    result = read_stream(b"MTSX\x00\x04\x00\x00")
    assert result.damage == "is not a stream of records"
    assert result.unexplained == 8


def test_an_empty_stream_is_whole() -> None:
    assert read_stream(stream([])) == read_stream(b"MTSP\x00\x04\x00\x00")
    assert read_stream(stream([])).damage == ""


@given(st.binary(max_size=200))
def test_any_bytes_after_the_head_are_records_or_counted(content: bytes) -> None:
    result = read_stream(b"MTSP\x00\x04\x00\x00" + content)
    assert result.unexplained <= len(content) + 24 * len(result.records)
    if content and not result.records:
        assert result.damage
        assert result.unexplained == len(content)
