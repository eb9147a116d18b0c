"""Record streams of a GPU frame capture: calls, each with a signature that describes its bytes.

A record is decoded by its signature alone, so that an unknown call never stops the reader. Bytes of
a record that its signature does not explain are counted, and so are records of an unknown form.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAGIC = b"MTSP\x00\x04\x00\x00"
_HEAD = struct.Struct("<Ii24sI")
_STACK_HEAD = struct.Struct("<II")
_RETURNS = 1  # flags
_HAS_STACK = 8
_STACK_STRIDE = 8
_WORD = 4
_MOST_RECORDS = 1 << 19  # of a stream: some GB of memory would follow
_TOKEN = re.compile(r"@(\d{1,4})(ul|uw|ui|us|uc|[lifdwtb])|ul|uw|ui|us|uc|U<b>|[CtlifdwbSU]")
_TEXTS = frozenset({"S", "U", "U<b>"})
_RECEIVER = frozenset({"C"})
_UNALIGNED = frozenset({"b"})
_FORMS = {
    "C": struct.Struct("<Q"),
    "t": struct.Struct("<Q"),
    "ul": struct.Struct("<Q"),
    "l": struct.Struct("<q"),
    "uw": struct.Struct("<Q"),
    "w": struct.Struct("<Q"),
    "ui": struct.Struct("<I"),
    "i": struct.Struct("<i"),
    "f": struct.Struct("<f"),
    "d": struct.Struct("<d"),
    "b": struct.Struct("<?"),
}

Scalar = int | float | bool | str


@dataclass(frozen=True, slots=True)
class CallArgument:
    """An argument: its token in the signature, and its value; of an array, all values."""

    token: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One record of a stream.

    `number` counts the records of the stream from 0. `result` is the returned handle or number,
    None if there is none. `stack` holds return addresses, innermost first. `unexplained` counts the
    bytes that the signature leaves over.
    """

    number: int
    code: int
    flags: int
    signature: str
    arguments: tuple[CallArgument, ...]
    result: Scalar | None
    stack: tuple[int, ...]
    unexplained: int

    @property
    def receiver(self) -> int:
        """The handle of the object that was called; 0 if there is none."""
        for argument in self.arguments:
            if argument.token in _RECEIVER and isinstance(argument.value, int):
                return argument.value
        return 0

    def list_integers(self, token: str) -> list[int]:
        """Return the values of all integer arguments of a token."""
        values = [argument.value for argument in self.arguments if argument.token == token]
        return [value for value in values if isinstance(value, int)]

    def list_texts(self, *tokens: str) -> list[str]:
        """Return the values of all text arguments of these tokens."""
        values = [argument.value for argument in self.arguments if argument.token in tokens]
        return [value for value in values if isinstance(value, str)]

    def list_arrays(self) -> list[tuple[Scalar, ...]]:
        """Return the values of all arguments that are arrays."""
        return [value.value for value in self.arguments if isinstance(value.value, tuple)]


@dataclass(frozen=True, slots=True)
class RecordStream:
    """The records of a stream up to its end or its damage.

    `damage` ends a sentence about the stream, "" if it is whole. `unexplained` counts the bytes
    that no record explains.
    """

    records: tuple[CallRecord, ...]
    damage: str
    unexplained: int


def is_stream(content: bytes) -> bool:
    """Return whether a content begins as a record stream does."""
    return content.startswith(MAGIC)


def read_stream(content: bytes) -> RecordStream:
    """Return all records of a stream, up to its damage."""
    if not is_stream(content):
        return RecordStream((), "is not a stream of records", len(content))
    records: list[CallRecord] = []
    place = len(MAGIC)
    damage = ""
    while place < len(content):
        if len(records) == _MOST_RECORDS:
            damage = f"is not read after {_MOST_RECORDS:,} records"
            break
        record, size = _read_record(content, place, len(records))
        if record is None:
            damage = f"is damaged after {len(records):,} records"
            break
        records.append(record)
        place += size
    unexplained = len(content) - place
    unexplained += sum(record.unexplained for record in records)
    return RecordStream(tuple(records), damage, unexplained)


def _read_record(content: bytes, start: int, number: int) -> tuple[CallRecord | None, int]:
    if start + _HEAD.size > len(content):
        return None, 0
    size, code, reserved, flags = _HEAD.unpack_from(content, start)
    is_whole = _HEAD.size < size <= len(content) - start and size % _WORD == 0
    if not is_whole:
        return None, 0
    cursor = _Cursor(content[start : start + size], _HEAD.size)
    signature = ""
    arguments: tuple[CallArgument, ...] = ()
    result: Scalar | None = None
    stack: tuple[int, ...] = ()
    try:
        signature = cursor.read_text()
        cursor.align()
        arguments = tuple(cursor.read_arguments(signature))
        if flags & _RETURNS:
            result = cursor.read_result()
        if flags & _HAS_STACK:
            stack = cursor.read_stack()
    except _UnexplainedError:
        pass
    unexplained = size - cursor.place
    if any(reserved):
        unexplained += len(reserved)
    record = CallRecord(number, code, flags, signature, arguments, result, stack, unexplained)
    return record, size


class _UnexplainedError(Exception):
    """The rest of a record is not explained by its signature."""


@dataclass(slots=True)
class _Cursor:
    """A place in the bytes of one record; it stays at the last place that is explained."""

    content: bytes
    place: int

    def align(self) -> None:
        """Skip to the next word, inside the record."""
        aligned = -(-self.place // _WORD) * _WORD
        self.place = min(aligned, len(self.content))

    def read_text(self) -> str:
        """Return a text up to its NUL; a text that is not UTF-8 has substitutes."""
        end = self.content.find(b"\0", self.place)
        if end < 0:
            raise _UnexplainedError
        text = self.content[self.place : end]
        self.place = end + 1
        return text.decode("utf-8", "replace")

    def read_arguments(self, signature: str) -> Iterator[CallArgument]:
        """Yield the arguments of a signature; all of them, or raise at the first unknown one."""
        position = 0
        while position < len(signature):
            match = _TOKEN.match(signature, position)
            if match is None:
                raise _UnexplainedError
            position = match.end()
            yield self._read_argument(match)
        self.align()

    def _read_argument(self, match: re.Match[str]) -> CallArgument:
        if match[1] is None:
            return CallArgument(match[0], self._read_value(match[0]))
        values = [self._read_value(match[2]) for _ in range(int(match[1]))]
        return CallArgument(match[2], tuple(values))

    def _read_value(self, token: str) -> Scalar:
        if token in _TEXTS:
            return self.read_text()
        form = _FORMS.get(token)
        if form is None:
            raise _UnexplainedError
        start = self.place
        if token not in _UNALIGNED:
            self.align()
        if self.place + form.size > len(self.content):
            self.place = start
            raise _UnexplainedError
        value: Scalar = form.unpack_from(self.content, self.place)[0]
        self.place += form.size
        return value

    def read_result(self) -> Scalar | None:
        """Return the returned value: the only argument of a signature of its own."""
        signature = self.read_text()
        self.align()
        values = list(self.read_arguments(signature))
        if len(values) != 1 or isinstance(values[0].value, tuple):
            return None
        return values[0].value

    def read_stack(self) -> tuple[int, ...]:
        """Return the return addresses of a call stack."""
        if self.place + _STACK_HEAD.size > len(self.content):
            raise _UnexplainedError
        count, stride = _STACK_HEAD.unpack_from(self.content, self.place)
        addresses_start = self.place + _STACK_HEAD.size
        end = addresses_start + count * _STACK_STRIDE
        if stride != _STACK_STRIDE or end > len(self.content):
            raise _UnexplainedError
        self.place = end
        return struct.unpack_from(f"<{count}Q", self.content, addresses_start)


def count_unexplained_records(records: Sequence[CallRecord]) -> int:
    """Return the number of records with bytes that their signatures leave over."""
    return sum(1 for record in records if record.unexplained)
