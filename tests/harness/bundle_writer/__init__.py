"""The tests' own writer of whole `.trace` bundles, apart from the reader it is compared with.

write_bundle(path, [Table("metal-gpu-intervals", columns, rows)])
"""

from bundle_writer.document import RunInfo
from bundle_writer.encoding import Encoder
from bundle_writer.engineering_types import TYPES
from bundle_writer.stores import record_type
from bundle_writer.symbols import Image, Symbol
from bundle_writer.values import (
    DURATION,
    TIME,
    Backtrace,
    Callstack,
    Col,
    Label,
    Location,
    Part,
    Process,
    Table,
    TextSymbol,
    Thread,
    ThreadName,
    Value,
)
from bundle_writer.whole import Issue, Run, write_bundle, write_runs

__all__ = [
    "DURATION", "TIME", "TYPES", "Backtrace", "Callstack", "Col", "Encoder", "Image", "Issue",
    "Label", "Location", "Part", "Process", "Run", "RunInfo", "Symbol", "Table", "TextSymbol",
    "Thread", "ThreadName", "Value", "record_type", "write_bundle",
    "write_runs",
]  # fmt: skip
