"""Words of compilers and of the engine, told with the kernel's own lines and columns."""

import re
from collections.abc import Callable, Mapping

from tracekit.lab.msl.edits import Edited
from tracekit.lab.msl.kernel import Kernel

_PLACE = re.compile(r"\b(\d+)\.(metal|call|end):(\d+)(?::(\d+))?")
_MOST_LINES = 12


def compiler_words(words: str, texts: Mapping[int, tuple[Kernel, Edited]]) -> str:
    """Tell what a compiler said: its errors, each with the kernel's line, and the first notes."""
    lines = [
        line.replace("error: ", "").replace("fatal ", "")
        for line in words.splitlines()
        if re.search(r"\berror: |: note: |undefined reference", line)
    ]
    told = "\n".join(lines[:_MOST_LINES]) or "\n".join(words.splitlines()[:_MOST_LINES])
    more = len(lines) - _MOST_LINES
    return located(told, texts) + (f"\n({more} more)" if more > 0 else "")


def located(words: str, texts: Mapping[int, tuple[Kernel, Edited]]) -> str:
    """Put the names of files and the kernel's own columns in, and show the first such line."""
    shown = ""

    def told(found: re.Match[str]) -> str:
        nonlocal shown
        kernel, text = texts[int(found[1])]
        if found[2] == "call":
            return f"{kernel.file}, where the kernel is called"
        if found[2] == "end":
            return f"{kernel.file}, its end"
        line = int(found[3])
        column = text.column(line, int(found[4] or 1))
        file, own = kernel.where(line)
        shown = shown or _excerpt(kernel.text, line, column, own)
        return f"{file}:{own}:{column}" if found[4] else f"{file}:{own}"

    return _PLACE.sub(told, words) + shown


def _excerpt(text: str, line: int, column: int, shown_as: int) -> str:
    lines = text.split("\n")
    if line > len(lines):
        return ""
    number, content = f"{shown_as:5}", lines[line - 1].replace("\t", " ").rstrip()
    return f"\n{number} | {content}\n{' ' * len(number)} | {' ' * (column - 1)}^"


def named(words: str, name_of: Callable[[int], str]) -> str:
    """Call buffers by the names of their parameters."""
    return re.sub(r"\bof buffer (\d+)", lambda found: f"of {name_of(int(found[1]))}", words)
