"""The ways to read an export that are measured side by side."""

import importlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RIVAL = "lxml, tuned"
PARSER = "xmllint --sax"


@dataclass(frozen=True)
class Method:
    """A way to read, or to parse, or to convert an export.

    `place` names its function as module:function. What `decodes` is compared with the truth.
    What is `slow` gets small files and a single round. `program` is what it needs on PATH.
    """

    name: str
    place: str
    decodes: bool = True
    slow: bool = False
    program: str = ""

    def load(self) -> Callable[[Path], Any]:
        """Import the function."""
        module, _, function = self.place.partition(":")
        return getattr(importlib.import_module(module), function)

    @property
    def missing(self) -> str:
        """Why it cannot run here; "" where it can."""
        if self.program and shutil.which(self.program) is None:
            return f"there is no {self.program}"
        return ""


METHODS = (
    Method("tracekit, fast", "reading.tracekit_readers:decode_fast"),
    Method("tracekit, exact", "reading.tracekit_readers:decode_exact"),
    Method("tracekit convert", "reading.tracekit_readers:convert"),
    Method(RIVAL, "reading.lxml_tuned:decode"),
    Method("lxml iterparse", "reading.lxml_iterparse:decode"),
    Method("lxml, naive", "reading.naive:decode_with_lxml", slow=True),
    Method("ElementTree, naive", "reading.naive:decode_with_element_tree", slow=True),
    Method("pandas.read_xml", "reading.pandas_xml:decode", slow=True),
    Method(PARSER, "reading.bounds:parse_with_sax", decodes=False, program="xmllint"),
    Method(
        "xmllint --stream", "reading.bounds:parse_with_stream", decodes=False, program="xmllint"
    ),
    Method("read(2)", "reading.bounds:read_bytes", decodes=False),
)


def named(name: str) -> Method:
    """Return the method of that name."""
    return next(method for method in METHODS if method.name == name)
