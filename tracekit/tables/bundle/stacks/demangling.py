"""Readable names of mangled symbols.

C++ is read by LLVM's own demangler. What refers back to its parts can double with each reference,
so that two hundred characters would fill all memory: a name that might become that long stays as
it is. Names of Swift stay mangled, too.
"""

import re

import pycxxfilt

_LONGEST = 1 << 11
_LARGEST = 1 << 26
_WORDIEST = 8  # letters of a name for one of its mangled form, about
_STUB = "DYLD-STUB$$_"
_MANGLED = re.compile(r"_(?=(?:__)?_Z)")  # a linker puts it in front of every name
_REFERENCE = re.compile(r"S([0-9A-Z]{0,6})_|T[0-9L_]{0,12}_")
_PACK = re.compile(r"Dp|sp|sP|s[zZ]|f[lLrR]")
_PACKED = re.compile(r"J(.*?)E")


def readable(symbol: str) -> str:
    """Return the name of a symbol of the linker as a person would write it."""
    if symbol.startswith(_STUB):
        return symbol.replace("$_", "$", 1)
    name = _MANGLED.sub("", symbol, count=1) if _MANGLED.match(symbol) else symbol
    if not name.startswith(("_Z", "___Z")) or len(name) > _LONGEST or _size(name) > _LARGEST:
        return symbol
    try:
        return pycxxfilt.demangle(name) or symbol
    except ValueError:
        return symbol


def _size(name: str) -> int:
    """Return at least how long a name may become.

    A part holds all that stands before it at most, and those references only that are to earlier
    parts than itself; a pack repeats what it holds for each of its members.
    """
    plain = total = _WORDIEST * len(name)
    before: list[tuple[int, int]] = []
    for found in _REFERENCE.finditer(name):
        place = found[1]
        if place is None:
            number, size = -1, plain + sum(one for _, one in before)
        else:
            number = int(place, 36) + 1 if place else 0
            size = plain + sum(one for other, one in before if other < number)
        before.append((number, size))
        total += size
        if total > _LARGEST:
            return total
    packs = len(_PACK.findall(name))
    members = max(map(len, _PACKED.findall(name)), default=1) if packs else 1
    return total * members**packs
