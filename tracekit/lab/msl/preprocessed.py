"""What a C++ preprocessor makes of a Metal text: which lines count, and what macros stand for."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tracekit.base.errors import ToolError
from tracekit.lab.msl.compiler import Compiler
from tracekit.lab.msl.edits import blank, without_comments
from tracekit.lab.msl.kernel import Kernel

_DIRECTIVE = re.compile(r"[ \t]*#")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LEFT_OUT = re.compile(r"[ \t]*#[ \t]*(?:include|import|pragma|line)\b")
_MARK = "tracekit_line_"


def with_live_lines(kernel: Kernel, compiler: Compiler) -> Kernel:
    """Make blank what `#if` and its kin leave out, so that nobody judges what nobody compiles."""
    if not _CONDITION.search(kernel.text):
        return kernel
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join(_marked(lines))
    try:
        said = _preprocessed(source, _defines(kernel), compiler)
    except ToolError:
        return kernel  # compiling it will fail too, and say why at its place
    live = {int(number) for number in re.findall(rf"{_MARK}(\d+)", said)}
    plain = dict(_plain(lines))
    text = [line if at in live or at not in plain else blank(line) for at, line in enumerate(lines)]
    return replace(kernel, text="\n".join(text))


def expanded(kernel: Kernel, compiler: Compiler) -> str:
    """Return the text with its macros replaced; "" where the preprocessor refuses it."""
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join("" if _LEFT_OUT.match(line) else line for line in lines)
    try:
        return _preprocessed(source, _defines(kernel), compiler)
    except ToolError:
        return ""


def _marked(lines: list[str]) -> Iterator[str]:
    plain = dict(_plain(lines))
    for at, line in enumerate(lines):
        yield f"{_MARK}{at}" if at in plain else line


def _plain(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that decide nothing: no conditions, no macros."""
    continues = False
    for at, line in enumerate(lines):
        is_directive = continues or bool(_DIRECTIVE.match(line) and not _LEFT_OUT.match(line))
        continues = is_directive and line.endswith("\\")
        if not is_directive:
            yield at, line


def _defines(kernel: Kernel) -> str:
    return "".join(
        f"#undef {name.partition('(')[0]}\n#define {name} {value}\n"
        for name, value in kernel.defines.items()
    )


@lru_cache(maxsize=256)
def _preprocessed(source: str, defines: str, compiler: Compiler) -> str:
    return compiler.preprocess(f"{defines}\n{source}\n")
