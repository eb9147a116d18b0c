"""What a name of a kernel of MLX tells of why it was made anew.

MLX calls a custom kernel `custom_kernel_NAME__` and then its template values, the dtypes of its
inputs and those of its outputs, joined by `_`. A dtype ends in `s` where the input is a scalar and
in `c` where it has fewer than 8 elements: both are read as constants, and change the signature
(mlx/backend/common/metal_kernel.cpp; 0.32.1).
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_OURS = "custom_kernel_"
_DTYPE = r"(?:bfloat16_t|float16_t|float|half|complex64_t|u?int(?:8|16|32|64)_t|bool)[sc]?"
_PART = re.compile(rf"{_DTYPE}(?=_|$)|[^_]+")
_IS_DTYPE = re.compile(rf"{_DTYPE}$")
_CLASSES = {"s": "a scalar", "c": "fewer than 8 elements", "": "8 elements or more"}
_LOOKED_AT = 256


def reasons(name: str, earlier: Iterable[str]) -> tuple[str, ...]:
    """Say in words what a kernel's name has that its nearest earlier namesake has not.

    Args:
        name: A name that is new.
        earlier: Names that were there before it.

    Returns:
        Nothing where the name is not one of MLX's scheme, or has no earlier namesake.
    """
    stem, _, rest = name.partition("__")
    if not name.startswith(_OURS) or not rest:
        return ()
    parts = _parts(rest)
    namesakes = [_parts(one.partition("__")[2]) for one in earlier if one.startswith(f"{stem}__")]
    if not namesakes:
        return ()
    nearest = min(namesakes[-_LOOKED_AT:], key=lambda one: len(_changes(one, parts)))
    return tuple(_words(before, after) for before, after in _changes(nearest, parts))


def _parts(name: str) -> list[str]:
    return _PART.findall(name)


def _changes(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """Return what differs, part by part where both have as many."""
    if len(before) == len(after):
        return [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [
        ("_".join(before[i:j]), "_".join(after[k:m]))
        for kind, i, j, k, m in blocks
        if kind != "equal"
    ]


def _words(before: str, after: str) -> str:
    if not (_IS_DTYPE.match(before) and _IS_DTYPE.match(after)):
        return f"template value {before or 'none'} → {after or 'none'}"
    kinds = [_kind(one) for one in (before, after)]
    if kinds[0][0] != kinds[1][0]:
        return f"dtype {kinds[0][0]} → {kinds[1][0]}"
    return f"an input of {_CLASSES[kinds[0][1]]} → {_CLASSES[kinds[1][1]]}"


def _kind(dtype: str) -> tuple[str, str]:
    """Return a dtype and the class of the input that has it."""
    return (dtype[:-1], dtype[-1]) if dtype[-1] in "sc" else (dtype, "")
