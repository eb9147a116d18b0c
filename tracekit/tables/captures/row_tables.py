"""The parts that all tables of a capture share: types of columns, numbers of objects, names."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.tables.captures.capture import FrameCapture

Row = Mapping[str, Any]
Rows = Iterator[Row]
# The dtypes of columns. Handles and addresses are identifiers; other whole numbers are integers.
INTEGER = "Int64"
IDENTIFIER = "UInt64"
TEXT = "string"
FLAG = "boolean"
NUMBER = "Float64"
_PATH = re.compile(r"(?:file:/)?/[^\s\"']*/([^/\s\"']*)")


@dataclass(frozen=True)
class RowTable:
    """A table of a capture: the dtype of each column, and the function that yields its rows."""

    columns: Mapping[str, str]
    list_rows: Callable[[FrameCapture], Rows]


def hide_folders(text: str) -> str:
    """Return a text in which each path is cut to the name of its file."""
    return _PATH.sub(r"\1", text)


class ObjectNumbers:
    """The numbers of objects in their tables, by their handles."""

    def __init__(self, capture: FrameCapture) -> None:
        self._capture = capture
        self.pipelines = {handle: number for number, handle in enumerate(capture.pipelines)}
        self.functions = {handle: number for number, handle in enumerate(capture.functions)}
        self.libraries = {handle: number for number, handle in enumerate(capture.libraries)}

    def find_kernel(self, pipeline: int) -> int | None:
        """Return the number of the function of a pipeline."""
        captured = self._capture.pipelines.get(pipeline)
        if captured is None:
            return None
        return self.functions.get(captured.function)

    def name_function(self, pipeline: int) -> str | None:
        """Return the name of the function of a pipeline."""
        captured = self._capture.pipelines.get(pipeline)
        if captured is None:
            return None
        function = self._capture.functions.get(captured.function)
        return None if function is None else function.name
