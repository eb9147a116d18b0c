"""The statistics that Metal's compiler left of a pipeline: instructions, registers, spills, lines.

All are counts of the compiled code, not of its execution. `Threadgroup memory` is not read: it is 0
for a kernel that has 17,408 bytes of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.tables.bundle.container.keyed import Archive

_REMARKS = "Remarks"
_DOCUMENT = re.compile(r"^---.*$", re.MULTILINE)
_MIX = re.compile(r"^Name:\s+InstructionMix\s*$", re.MULTILINE)
_FILE = re.compile(r"DebugLoc:\s*\{\s*File:\s*'?([^'\n]*?)'?\s*,\s*Line:\s*(\d{1,9})")
_PROGRAM = re.compile(r"^Function:\s+(.*?)\s*$", re.MULTILINE)
_COUNT = re.compile(r"^\s+- INST_\w*:\s+'(\d{1,9})'\s*$", re.MULTILINE)
_LONGEST = 1 << 24


@dataclass(frozen=True, slots=True)
class LineCount:
    """The instructions of a line of the source in a program of the pipeline; None if unknown.

    Apple's compiler makes two programs of a kernel: the kernel itself, and one that computes its
    constants once.
    """

    program: str
    path: str
    line: int | None
    instructions: int
    blocks: int


@dataclass(frozen=True, slots=True)
class CompilerStatistics:
    """The numbers of a pipeline by Apple's names, and its instructions by line."""

    numbers: Mapping[str, int | float]
    lines: tuple[LineCount, ...]


def read_statistics(content: bytes) -> CompilerStatistics:
    """Return the statistics of a pipeline; raise ArchiveError if they are damaged."""
    archive = Archive(content)
    numbers: dict[str, int | float] = {}
    values: dict[Any, Any] = archive.mapping(archive.root)
    for key, value in values.items():
        plain_value = archive.unwrap(value)
        is_number = isinstance(plain_value, int | float) and not isinstance(plain_value, bool)
        if isinstance(key, str) and is_number:
            numbers[key] = plain_value
    remarks = archive.text(values.get(_REMARKS))
    return CompilerStatistics(numbers, tuple(count_lines(remarks)))


def count_lines(remarks: str) -> list[LineCount]:
    """Return the instructions by program, file and line, from the remarks of the compiler.

    The remark InstructionMix counts the instructions of a basic block and names the line of its
    first one, so a long block counts at its first line.
    """
    counts: dict[tuple[str, str, int | None], tuple[int, int]] = {}
    for document in _DOCUMENT.split(remarks[:_LONGEST]):
        if not _MIX.search(document):
            continue
        place = _FILE.search(document)
        program = _PROGRAM.search(document)
        instructions = sum(map(int, _COUNT.findall(document)))
        path = place[1] if place else ""
        line = int(place[2]) if place else None
        key = (program[1] if program else "", path, line)
        total, blocks = counts.get(key, (0, 0))
        counts[key] = (total + instructions, blocks + 1)
    lines: list[LineCount] = []
    for (program_name, path, line), (total, blocks) in counts.items():
        lines.append(LineCount(program_name, path, line, total, blocks))
    return lines
