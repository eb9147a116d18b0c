"""Count the operations or the branches of a launch: a kernel compiled with counters in its blocks.

clang writes the kernel as LLVM's text. For branches see `branches.py`. For floating-point
operations a line is added to each basic block that adds those of the block to a counter. An
addition, subtraction, multiplication, division and a function such as `exp` count 1, a fused
multiply-add 2; comparisons, `max`, `min` and conversions count nothing. Each element of a vector
counts. They are operations of the code that clang makes of the kernel at -O1, which moves invariant
ones out of loops.
"""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path

from tracekit.base import ToolError
from tracekit.lab.msl.branches import add_notes
from tracekit.lab.msl.compile import (
    compile_kernel,
    expand_macros,
    make_engine,
    make_once,
    unit,
    with_live_lines,
)
from tracekit.lab.msl.compiler import Compiler, usable_compilers
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import KernelProgram, Library

COUNTERS: Mapping[str, str] = {
    "half": "tracekit_half_operations",
    "float": "tracekit_float_operations",
}
"""The counter in a compiled library for operations on each type; those on double are of float."""
_RULES = "counted 2"  # in the name of a cached library: another number for other rules
_FUSED = 2
_TYPE = r"(?:<(?P<width>\d+) x )?(?P<type>half|float|double)>?"
_FLAGS = r"(?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*"
_ARITHMETIC = re.compile(rf" = f(?:add|sub|mul|div|rem) {_FLAGS}{_TYPE}")
_CALL = re.compile(rf"\bcall [^@]*?{_TYPE} @(?:llvm\.)?(?P<function>[a-z]\w*)")
_FREE = re.compile(r"f?abs|copysign|f?max|f?min")
_LABEL = re.compile(r'(?:"[^"]*"|[\w.$-]+):')
_HEAD = re.compile(r"\s*(?:%\S+ = )?(?:phi|landingpad)\b|\s*cleanup$")


class Counted(StrEnum):
    """The things of which a kernel can be compiled to count."""

    OPERATIONS = "operations"
    BRANCHES = "branches"


_OPTIMIZED = ("-O1", "-fno-vectorize", "-fno-slp-vectorize")
_AS_WRITTEN = ("-O0", "-Xclang", "-disable-O0-optnone", "-gline-tables-only")
_NAMED = "-fno-discard-value-names"


def compile_counted(kernel: KernelText, kind: Counted = Counted.OPERATIONS) -> KernelProgram:
    """Compile a kernel with counters, or take it from the cache.

    Raise ToolError if there is no clang++, KernelError if it cannot compile the kernel.
    """
    compiler = _find_clang()
    text, parameters, code = unit(
        with_live_lines(kernel, compiler),
        checked=False,
        expand=lambda kernel_text: expand_macros(kernel_text, compiler),
    )
    engine = make_engine(compiler)
    flags = _OPTIMIZED
    add = add_counters
    if kind is Counted.BRANCHES:
        flags = (*_AS_WRITTEN, _NAMED)
        add = add_notes

    def make(path: Path) -> None:
        folder = path.parent
        path.with_suffix(".cpp").write_text(text)
        source = path.with_suffix(".cpp").name
        compiler.run(*flags, "-S", "-emit-llvm", source, "-o", "plain.ll", folder=folder)
        counted_text = add((folder / "plain.ll").read_text())
        (folder / "counted.ll").write_text(counted_text)
        files = ("counted.ll", str(engine), "-o", path.name)
        compiler.run(*_OPTIMIZED, "-shared", *files, folder=folder)

    path = make_once("so", f"{kind} {_RULES}\n{text}", compiler, make)
    program = KernelProgram(kernel, parameters, Library(path), code, checked=False)
    if kind is Counted.OPERATIONS:
        program.counters = COUNTERS
    program.notes_branches = kind is Counted.BRANCHES
    return program


_counting: ContextVar[Counted | None] = ContextVar("counting", default=None)


@contextmanager
def counting(kind: Counted) -> Generator[None]:
    """Let unchecked kernels that `compile_as_asked` compiles in the block count."""
    token = _counting.set(kind)
    try:
        yield
    finally:
        _counting.reset(token)


def find_counted() -> Counted | None:
    """Return the things that kernels compiled now count; None if they count nothing."""
    return _counting.get()


def compile_as_asked(kernel: KernelText, *, checked: bool) -> KernelProgram:
    """Compile a kernel; in a block of `counting` it counts, unless it is checked."""
    kind = find_counted()
    if checked or kind is None:
        return compile_kernel(kernel, checked=checked)
    return compile_counted(kernel, kind)


def _find_clang() -> Compiler:
    for compiler in usable_compilers():
        if compiler.kind != "g++":
            return compiler
    raise ToolError(
        "Counting operations or branches takes clang++, and there is none on PATH.",
        hint="Install clang 16 or newer.",
    )


def add_counters(text: str) -> str:
    """Return a module of LLVM's text that counts the operations of each block that runs."""
    lines = text.split("\n")
    for counter in COUNTERS.values():
        lines.append(f"@{counter} = global i64 0, align 8")
    return "\n".join(_count_blocks(lines))


def _count_blocks(lines: list[str]) -> Iterator[str]:
    is_body = False
    block: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("define "):
            is_body = True
            yield line
            continue
        ends_body = is_body and line == "}"
        if is_body and not ends_body and not _LABEL.match(line):
            block.append(line)
            continue
        yield from _count_block(block, number)
        block = []
        is_body = is_body and not ends_body
        yield line


def _count_block(block: list[str], number: int) -> Iterator[str]:
    """Yield the lines of a block, with those that count behind its first ones."""
    sums = dict.fromkeys(COUNTERS, 0)
    for line in block:
        kind, count = count_operations(line)
        if count:
            sums[kind] += count
    head = 0
    while head < len(block) and _HEAD.match(block[head]):
        head += 1
    yield from block[:head]
    for kind, count in sums.items():
        if count:
            yield (
                f"  %tracekit.{kind}.{number} = atomicrmw add ptr @{COUNTERS[kind]}, "
                f"i64 {count} monotonic"
            )
    yield from block[head:]


def count_operations(line: str) -> tuple[str, int]:
    """Return the type and the number of operations of an instruction in LLVM's text."""
    weight = 1
    match = _ARITHMETIC.search(line)
    if match is None:
        match = _CALL.search(line)
        if match is None or _FREE.match(match["function"]):
            return "float", 0
        if match["function"].startswith("fma"):
            weight = _FUSED
    kind = "half" if match["type"] == "half" else "float"
    return kind, weight * int(match["width"] or 1)
