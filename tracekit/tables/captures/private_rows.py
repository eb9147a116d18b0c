"""The rows of a capture's private data: the text of sources, and the contents of buffers."""

from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.tables.captures.arguments import list_buffers
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.row_tables import INTEGER, TEXT, Rows, RowTable

SOURCE = "source"
BUFFERS = "buffers"
_PIECE = 4096  # bytes of contents in a row
_MOST_CONTENTS = 1 << 26  # bytes of a table

_SOURCES = {"library": INTEGER, "file": TEXT, "text": TEXT}


def _list_sources(capture: FrameCapture) -> Rows:
    remaining_bytes = _MOST_CONTENTS
    for number, handle in enumerate(capture.libraries):
        for source in capture.list_sources(handle):
            remaining_bytes -= len(source.content)
            if remaining_bytes < 0:
                return
            yield {
                "library": number,
                "file": source.path.rpartition("/")[2],
                "text": source.content.decode("utf-8", "replace"),
            }


_CONTENTS = {
    "buffer": INTEGER,
    "command-buffer": INTEGER,
    "offset": INTEGER,
    "bytes": TEXT,
}


def _list_contents(capture: FrameCapture) -> Rows:
    """Yield the contents of buffers in pieces: those of the capture, then those that are written.

    Contents beyond `_MOST_CONTENTS` bytes in all are left out.
    """
    remaining_bytes = _MOST_CONTENTS
    for part in _find_contents(capture):
        size = min(part.length, capture.files.size(part.name))
        remaining_bytes -= size
        if remaining_bytes < 0:
            return
        content = capture.read_contents(part.name)[:size]
        for start in range(0, size, _PIECE):
            yield {
                "buffer": part.buffer,
                "command-buffer": part.command_buffer,
                "offset": part.offset + start,
                "bytes": content[start : start + _PIECE].hex(),
            }


@dataclass(frozen=True)
class _BufferContents:
    """Contents of a buffer, by their name in the capture, and their place in the buffer; bytes.

    `buffer` and `command_buffer` are numbers of their tables; the contents at the beginning of the
    capture have no command buffer.
    """

    buffer: int
    command_buffer: int | None
    name: str
    offset: int
    length: int


def _find_contents(capture: FrameCapture) -> Iterator[_BufferContents]:
    numbers: dict[int, int] = {}
    for number, buffer in enumerate(list_buffers(capture)):
        numbers[buffer.handle] = number
        if buffer.content in capture.files and buffer.length is not None:
            yield _BufferContents(number, None, buffer.content, 0, buffer.length)
    for recorded in capture.recorded_contents:
        if recorded.buffer in numbers and recorded.content in capture.files:
            yield _BufferContents(
                buffer=numbers[recorded.buffer],
                command_buffer=recorded.command_buffer,
                name=recorded.content,
                offset=recorded.offset,
                length=recorded.length,
            )


PRIVATE_TABLES = {
    SOURCE: {"capture-sources": RowTable(_SOURCES, _list_sources)},
    BUFFERS: {"capture-contents": RowTable(_CONTENTS, _list_contents)},
}
"""The tables of each part that a user may include."""
