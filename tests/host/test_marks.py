from collections.abc import Callable
from pathlib import Path

from tracekit.host import export_marks
from tracekit.journal import Model, Phase, Specialization, StepMark, WorkloadReport

Reader = Callable[[Path], tuple[list[str], list[list[str | None]]]]

REPORT = WorkloadReport(
    workload="paged",
    backend="metal",
    model=Model(
        tokens=16, bytes_read=300, bytes_unique=200, bytes_written=40, flops=2**40, dispatches=1
    ),
    phases=(Phase("prepare", 900, 1000), Phase("warm-up", 1000, 1500), Phase("steady", 1500, 9000)),
    steps=(StepMark("warm-up", 1010, 1020, 1400), StepMark("steady", 1500, 1510, 1900)),
    specializations=(Specialization("custom_kernel_paged_decode__x", 1020),),
)


def test_marks_are_laid_on_the_traces_time(tmp_path: Path, read_export: Reader) -> None:
    files = export_marks(REPORT, 1500, tmp_path)
    assert [file.name for file in files] == [
        "host-phases.xml",
        "host-steps.xml",
        "host-specializations.xml",
        "host-step-model.xml",
    ]
    assert read_export(files[0]) == (
        ["start", "duration", "name"],
        [["-600", "100", "prepare"], ["-500", "500", "warm-up"], ["0", "7500", "steady"]],
    )
    assert read_export(files[1]) == (
        ["start", "duration", "index", "phase", "submitted", "tokens"],
        [
            ["-490", "390", "0", "warm-up", "10", "16"],
            ["0", "400", "1", "steady", "10", "16"],
        ],
    )
    assert read_export(files[2]) == (
        ["timestamp", "name"],
        [["-480", "custom_kernel_paged_decode__x"]],
    )
    assert read_export(files[3]) == (
        [
            "timestamp",
            "backend",
            "tokens",
            "bytes-read",
            "bytes-unique",
            "bytes-written",
            "flops",
            "dispatches",
        ],
        [["-500", "metal", "16", "300", "200", "40", str(2**40), "1"]],
    )


def test_what_is_not_known_is_a_sentinel(tmp_path: Path, read_export: Reader) -> None:
    report = WorkloadReport(backend="cpu", phases=(Phase("prepare", 10, 20),))
    _, _, _, model = export_marks(report, 0, tmp_path)
    assert read_export(model)[1] == [["20", "cpu", "0", "0", "0", "0", "0", None]]


def test_a_worker_that_never_got_ready_has_no_model(tmp_path: Path, read_export: Reader) -> None:
    for file in export_marks(WorkloadReport(), 0, tmp_path):
        assert read_export(file)[1] == []


def test_tables_count_on_from_the_recorders_own(tmp_path: Path) -> None:
    files = export_marks(REPORT, 0, tmp_path, first=119)
    places = [file.read_text().partition("table[")[2].partition("]")[0] for file in files]
    assert places == ["119", "120", "121", "122"]
