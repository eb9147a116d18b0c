"""Counters of a subject's frame capture: means by cost, in the words and the CSV of a bench."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.lab.bench.document import BenchRow, ReplayedCounters, columns
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.replayed import read_replayed
from tracekit.lab.bench.run import Settings, run_bench
from tracekit.lab.bench.words import _counter_remarks

# the form of a tab of Xcode's counters
TAB = """Thumbnails\tName\tExecution Cost\tKernel Occupancy\tALU Utilization\t
-\t546 Compute Encoder 0 0x79f00c8c0\t75.000%\t20.00%\t4.00%\t
-\t1501 Compute Encoder 0 0x79f00dfe0\t25.000%\t60.00%\t8.00%\t
"""


def test_a_mean_is_weighted_by_the_cost_of_encoders(tmp_path: Path) -> None:
    file = tmp_path / "tab.txt"
    file.write_text(TAB)
    replayed = read_replayed([str(file)])
    assert (replayed.files, replayed.encoders, replayed.memory) == (("tab.txt",), 2, None)
    assert replayed.occupancy == pytest.approx(0.75 * 0.2 + 0.25 * 0.6)
    assert replayed.alu == pytest.approx(0.75 * 0.04 + 0.25 * 0.08)


def test_counters_without_costs_have_no_mean(tmp_path: Path) -> None:
    file = tmp_path / "tab.txt"
    file.write_text(TAB.replace("Execution Cost", "Kernel Invocations").replace(".000%", ""))
    with pytest.raises(InputError, match="has no cost of its encoders"):
        read_replayed([str(file)])


def test_counters_are_in_words_and_in_the_csv() -> None:
    replayed = ReplayedCounters(("tab.txt",), 2, 0.3, 0.05, None)
    row = BenchRow(
        "paged", "decode", "measured", tokens=4, bytes_unique=8192, replayed=replayed
    )  # fmt: skip
    (remark,) = _counter_remarks([replace(row, replayed=None), row])
    assert remark == (
        "paged, by Xcode's counters of 2 encoders of its capture, as you state, replayed one "
        "after another: occupancy 30.0 %, "
        "ALU 5.0 %, last level cache not available, 2 KiB a token by the model."
    )
    values = columns(row, Shape())
    assert (values["occupancy"], values["alu"], values["memory"]) == (0.3, 0.05, None)


@pytest.mark.parametrize("subjects", [(), ("paged", "sdpa")])
def test_counters_without_their_subject_are_refused(subjects: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="Counters are those of one subject"):
        run_bench(Shape(), Settings(subjects=subjects, counters=("tab.txt",)))
