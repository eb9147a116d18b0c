"""Names compared eight bytes at a time, and never taken for others that begin alike."""

from collections.abc import Callable

import numpy as np
import pytest

from tracekit.tables.values import FORMS
from tracekit.tables.xml.fast.tokens import Block, IrregularError, Vocabulary

MakeBlock = Callable[[bytes], Block]
NAMES = ("pid", "tid", "metal-object-label", "metal-object-labels", "metal-encoder-id", "exactly8")


def places_of(content: bytes) -> np.ndarray:
    return np.flatnonzero(np.frombuffer(content, np.uint8) == ord("<")) + 1


def test_names_are_found_by_their_whole_length(of: MakeBlock) -> None:
    content = b'<pid id="1"><metal-object-labels ref="2"/><metal-object-label/><exactly8>'
    vocabulary = Vocabulary(NAMES)
    codes = vocabulary.identify(of(content), places_of(content))
    assert [NAMES[code] for code in codes] == [
        "pid",
        "metal-object-labels",
        "metal-object-label",
        "exactly8",
    ]


def test_every_known_type_is_told_from_every_other(of: MakeBlock) -> None:
    names = [name for name in FORMS for _ in range(2)]
    content = b"".join(f'<{name} ref="1"/>'.encode() for name in names)
    vocabulary = Vocabulary(FORMS)
    codes = vocabulary.identify(of(content), places_of(content))
    assert [list(FORMS)[code] for code in codes] == names


@pytest.mark.parametrize(
    "name", ["pi", "pids", "metal-object-labe", "metal-object-labelz", "", "PID"]
)
def test_a_name_that_is_not_in_the_vocabulary(of: MakeBlock, name: str) -> None:
    content = f'<pid id="1"><{name} id="2">'.encode()
    with pytest.raises(IrregularError):
        Vocabulary(NAMES).identify(of(content), places_of(content))


def test_no_name_ends_within_reach(of: MakeBlock) -> None:
    content = b"<" + b"x" * 500
    with pytest.raises(IrregularError):
        Vocabulary(NAMES).identify(of(content), places_of(content))


def test_bytes_match_a_name_of_several_words(of: MakeBlock) -> None:
    content = b"<metal-object-label <metal-object-lapel <metal-obstacle-lab <pid     "
    vocabulary = Vocabulary(NAMES)
    code = np.int16(vocabulary.code("metal-object-label"))
    matches = vocabulary.match(of(content), places_of(content), np.full(4, code))
    assert matches.tolist() == [True, False, False, False]


def test_columns_match_row_by_row(of: MakeBlock) -> None:
    content = b"<pid     <metal-encoder-id <tid     <metal-encoder-id "
    vocabulary = Vocabulary(NAMES)
    columns = np.array([vocabulary.code("pid"), vocabulary.code("metal-encoder-id")], np.int16)
    matches = vocabulary.match(of(content), places_of(content).reshape(2, 2), columns)
    assert matches.tolist() == [[True, True], [False, True]]


def test_names_as_a_set_of_codes() -> None:
    assert Vocabulary(NAMES).codes(("tid", "exactly8", "absent")).tolist() == [
        False, True, False, False, False, True,
    ]  # fmt: skip
