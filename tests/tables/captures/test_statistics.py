"""The compiler's statistics: numbers, and instructions by line."""

import pytest

from capture_writer import keyed_archive
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures.statistics import LineCount, read_statistics

REMARKS = """\
--- !Passed
Pass:            loop-unroll
Name:            FullyUnrolled
DebugLoc:        { File: 'src/probe.metal', Line: 9, Column: 5 }
Function:        agc.main
...
--- !Analysis
Pass:            asm-printer
Name:            InstructionMix
DebugLoc:        { File: 'src/probe.metal',
                   Line: 12, Column: 3 }
Function:        agc.main
Args:
  - String:          'BasicBlock: '
  - INST_:           '40'
  - INST_fma:        '2'
...
--- !Analysis
Name:            InstructionMix
DebugLoc:        { File: 'src/probe.metal', Line: 12, Column: 3 }
Function:        agc.main
Args:
  - INST_:           '8'
...
--- !Analysis
Name:            InstructionMix
Function:        agc.main.constant_program
Args:
  - INST_:           '5'
...
"""


def test_numbers_and_lines_are_read() -> None:
    content = keyed_archive(
        {
            "Instruction count": 55,
            "Compilation time in milliseconds": 1.5,
            "Constant calculation phase present": True,
            "Remarks": REMARKS,
        }
    )
    statistics = read_statistics(content)
    assert statistics.numbers == {"Instruction count": 55, "Compilation time in milliseconds": 1.5}
    assert statistics.lines == (
        LineCount("agc.main", "src/probe.metal", 12, 50, 2),
        LineCount("agc.main.constant_program", "", None, 5, 1),
    )


def test_damaged_statistics_are_refused() -> None:
    content = keyed_archive({"Instruction count": 55})
    for size in (0, 20, len(content) - 10):
        with pytest.raises(ArchiveError):
            read_statistics(content[:size])
