"""From the text of cells to values: what an engineering type holds, and its column.

The forms are those of the values seen in real exports. A type that is not listed is read by
what its column holds: all integers, all numbers, else text.

Integers become int64, or uint64 where the type counts to 2^64 - 1 or a value needs it; with
nulls among them Int64 or UInt64. Booleans become bool, or boolean with nulls. Decimals become
float64, with NaN for null. All else becomes string.
"""

from enum import StrEnum

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


class Form(StrEnum):
    """What the text of a cell is."""

    INTEGER = "integer"
    UNSIGNED = "unsigned"
    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"


_INTEGERS = """
    cfrunloop-result connection-uuid64 containment-level core cycle-weight displayed-surface-swap
    duration duration-on-core duration-waiting event-count event-time fd gpu-driver-surface
    gpu-frame-number kdebug-func layout-id mach-o-vm-offset mach-port metal-encoder-id
    metal-nesting-level metal-workload-priority network-size-in-bytes packed-identifier pid
    pmc-event render-buffer-depth sample-time sched-priority size-in-bytes start-time
    swift-actor-id swift-task-id syscall-return tid time-sample-kind uint32 weight
"""
_UNSIGNED = """
    address eight-byte-array kdebug-arg metal-command-buffer-id os-signpost-identifier
    register-content syscall-arg text-address uint64 uint64-hex-lowercase vnode
"""
_NUMBERS = "fixed-decimal percent"
_FLAGS = "boolean"
_TEXTS = """
    analysis-core-swift-task app-period ar-event-name backtrace category cause-set core-state
    description-set device-session display-event-name display-name event-concept event-type
    file-path format-string formatted-label gpu-channel-name gpu-counter-name gpu-driver-name
    gpu-event-name gpu-state hang-type kperf-bt medium-length-string metal-device-name
    metal-event-name metal-memory-level-event metal-object-label narrative narrative-text
    network-interface network-protocol os-log-metadata path pmc-events process return-location
    shader-compiler-name short-string signpost-name size-in-pixels sockaddr string subsystem
    swift-actor swift-actor-class swift-task swift-task-priority swift-task-state swiftui-update
    syscall tagged-backtrace text-addresses text-backtrace text-symbol thermal-state thread
    thread-name thread-state typed-array uuid view-hierarchy vm-op vsync-event word-string
"""
FORMS: dict[str, Form] = {
    engineering_type: form
    for form, types in (
        (Form.INTEGER, _INTEGERS),
        (Form.UNSIGNED, _UNSIGNED),
        (Form.NUMBER, _NUMBERS),
        (Form.FLAG, _FLAGS),
        (Form.TEXT, _TEXTS),
    )
    for engineering_type in types.split()
}

_INTEGER_TEXT = r"^-?[0-9]+$"
_PLAIN_INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)$"
_NUMBER_TEXT = r"^-?([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|nan|inf)$"
_PLAIN_NUMBER_TEXT = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


def column(texts: pa.ChunkedArray, form: Form) -> pd.Series | None:
    """Return the values of `texts`, or None where one of them is not of that form."""
    match form:
        case Form.INTEGER:
            values = _integers(texts, pa.int64(), pa.uint64())
        case Form.UNSIGNED:
            values = _integers(texts, pa.uint64(), pa.int64())
        case Form.NUMBER:
            values = texts.cast(pa.float64()) if _all_match(texts, _NUMBER_TEXT) else None
        case Form.FLAG:
            values = _flags(texts)
        case Form.TEXT:
            values = texts
    return None if values is None else _series(values)


def inferred(texts: pa.ChunkedArray) -> pd.Series:
    """Return the values of a column of unknown type: integers, numbers, else text.

    A text such as "007" stays text: as a number it would not be the same any more.
    """
    if texts.null_count == len(texts):
        return _series(texts)
    found = None
    if _all_match(texts, _PLAIN_INTEGER_TEXT):
        found = column(texts, Form.INTEGER)
    elif _all_match(texts, _PLAIN_NUMBER_TEXT):
        found = column(texts, Form.NUMBER)
    return _series(texts) if found is None else found


def _integers(
    texts: pa.ChunkedArray, first: pa.DataType, second: pa.DataType
) -> pa.ChunkedArray | None:
    if not _all_match(texts, _INTEGER_TEXT):
        return None
    for integer in (first, second):
        try:
            return texts.cast(integer)
        except pa.ArrowInvalid:
            continue
    return None


def _flags(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    integers = _integers(texts, pa.int64(), pa.uint64())
    if integers is None:
        return None
    return pc.call_function("not_equal", [integers, pa.scalar(0, integers.type)])


def _all_match(texts: pa.ChunkedArray, pattern: str) -> bool:
    matches = pc.call_function(
        "match_substring_regex", [texts], pc.MatchSubstringOptions(pattern=pattern)
    )
    return not pc.call_function("any", [pc.call_function("invert", [matches])]).as_py()


def _series(values: pa.ChunkedArray) -> pd.Series:
    if pa.types.is_string(values.type):
        dtype = pd.StringDtype()
        return pd.Series(dtype.__from_arrow__(values))  # pyright: ignore[reportAttributeAccessIssue]
    if pa.types.is_floating(values.type):
        return pd.Series(values.to_numpy())
    if not values.null_count:
        return pd.Series(values.to_numpy())
    nulls = values.is_null().to_numpy()
    known = values.fill_null(pa.scalar(0).cast(values.type)).to_numpy()
    if pa.types.is_boolean(values.type):
        return pd.Series(pd.arrays.BooleanArray(known.astype(np.bool_), nulls))
    return pd.Series(pd.arrays.IntegerArray(known, nulls))
