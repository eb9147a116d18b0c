"""The names of elements, compared eight bytes at a time."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.irregular import IrregularError
from tracekit.tables.xml.fast.tokens import Flags, Positions

_NAME_END = b" />"
_LONGEST = 128
_WORD = 8
_UNKNOWN = -1

Codes = NDArray[np.int16]


class Vocabulary:
    """The names that a table may use, by code: a name's place in the list."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names; each has its code once, in the order given."""
        encoded = [name.encode() for name in dict.fromkeys(names)]
        self._codes = {name: code for code, name in enumerate(encoded)}
        self.lengths = np.array([len(name) for name in encoded], np.int64)
        width = -(-max(map(len, encoded)) // _WORD) * _WORD
        table = np.frombuffer(b"".join(name.ljust(width, b"\0") for name in encoded), "<u8")
        mask = b"".join((b"\xff" * len(name)).ljust(width, b"\0") for name in encoded)
        self._words = table.reshape(len(encoded), -1).T.copy()
        self._masks = np.frombuffer(mask, "<u8").reshape(len(encoded), -1).T.copy()

    def code(self, name: str) -> int:
        """Return the code of a name that is in the vocabulary."""
        return self._codes[name.encode()]

    def codes(self, names: Iterable[str]) -> Flags:
        """Return, for every code, whether its name is one of `names`."""
        chosen = np.zeros(self.lengths.size, np.bool_)
        chosen[[self._codes[name.encode()] for name in names if name.encode() in self._codes]] = (
            True
        )
        return chosen

    def match(self, block: Block, places: Positions, codes: Codes) -> Flags:
        """Tell whether, at each place, the bytes are those of the name that has the code there.

        `places` may have more dimensions than `codes`, which is then the same for every row.
        """
        matches = (block.words[places] & self._masks[0].take(codes)) == self._words[0].take(codes)
        lengths = self.lengths.take(codes)
        for word in range(1, len(self._words)):
            longer = np.flatnonzero(lengths > _WORD * word)
            if not longer.size:
                break
            some = codes.take(longer)
            found = block.words[places[..., longer] + _WORD * word] & self._masks[word].take(some)
            matches[..., longer] &= found == self._words[word].take(some)
        return matches

    def identify(self, block: Block, places: Positions) -> Codes:
        """Return the codes of the names at some places.

        Raises:
            IrregularError: A name is not in the vocabulary.
        """
        codes = np.full(places.size, _UNKNOWN, np.int16)
        beginnings = block.words[places]
        left = np.arange(places.size)
        while left.size:
            code = self._code_at(block, int(places[left[0]]))
            alike = (beginnings.take(left) & self._masks[0][code]) == self._words[0][code]
            found = left[alike]
            found = found[self._is(block, places.take(found), code)]
            codes[found] = code
            left = left[codes.take(left) == _UNKNOWN]
        return codes

    def _is(self, block: Block, places: Positions, code: int) -> Flags:
        """Tell where a name ends as it should, and goes on as it should behind its first word."""
        length = int(self.lengths[code])
        after = block.octets.take(places + length)
        matches = (after == _NAME_END[0]) | (after == _NAME_END[1]) | (after == _NAME_END[2])
        for word in range(1, -(-length // _WORD)):
            found = block.words[places + _WORD * word] & self._masks[word][code]
            matches &= found == self._words[word][code]
        return matches

    def _code_at(self, block: Block, place: int) -> int:
        text = block.octets[place : place + _LONGEST].tobytes()
        length = min((at for at in map(text.find, (b" ", b"/", b">")) if at >= 0), default=0)
        code = self._codes.get(text[:length])
        if code is None:
            raise IrregularError(f"<{text[:length].decode(errors='replace')}> in a row")
        return code
