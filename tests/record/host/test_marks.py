from collections.abc import Callable
from pathlib import Path

from tracekit.record.host.exports import export_events
from tracekit.workload.journal import Phase, Specialization, StepMark, WorkloadReport
from tracekit.workload.workload import Gauge, Measured, Memory, Request, Span, Work

Reader = Callable[[Path], tuple[list[str], list[list[str | None]]]]

REPORT = WorkloadReport(
    workload="paged",
    backend="metal",
    model=Work(
        tokens=16, bytes_read=300, bytes_unique=200, bytes_written=40, flops=2**40, dispatches=1
    ),
    phases=(Phase("prepare", 900, 1000), Phase("warm-up", 1000, 1500), Phase("steady", 1500, 9000)),
    steps=(StepMark("warm-up", 1010, 1020, 1400), StepMark("steady", 1500, 1510, 1900)),
    specializations=(Specialization("custom_kernel_paged_decode__x", 1020),),
)


def test_marks_are_laid_on_the_traces_time(tmp_path: Path, read_export: Reader) -> None:
    files = export_events(REPORT, 1500, tmp_path)
    assert [file.name for file in files] == [
        "host-phases.xml",
        "host-steps.xml",
        "host-specializations.xml",
        "host-step-model.xml",
        "host-spans.xml",
        "host-gauges.xml",
        "host-requests.xml",
        "host-request-tokens.xml",
        "host-results.xml",
        "host-memory-profile.xml",
    ]
    assert read_export(files[0]) == (
        ["start", "duration", "name"],
        [["-600", "100", "prepare"], ["-500", "500", "warm-up"], ["0", "7500", "steady"]],
    )
    assert read_export(files[1]) == (
        ["start", "duration", "index", "phase", "submitted", "tokens", "variant"],
        [
            ["-490", "390", "0", "warm-up", "10", "16", ""],
            ["0", "400", "1", "steady", "10", "16", ""],
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
            "variant",
        ],
        [["-500", "metal", "16", "300", "200", "40", str(2**40), "1", ""]],
    )


def test_what_a_workload_tells_too(tmp_path: Path, read_export: Reader) -> None:
    report = WorkloadReport(
        backend="cpu",
        phases=(Phase("prepare", 900, 1000),),
        steps=(StepMark("steady", 1500, 1510, 1900, variant="sdpa", tokens=3),),
        variants={"paged": Work(flops=1), "sdpa": Work(flops=2)},
        spans=(Span("admit", 1500, 1510),),
        gauges=(Gauge("used_blocks", 7, 1900, "count"),),
        requests=(
            Request(0, 1400, 5, 2, admitted=1500, tokens=(1900, 2000), state="completed"),
            Request(1, 1450, 5, 2),
        ),
        results={"error": Measured(2.5e-7), "ttft": Measured(None, "ns", "lower", "no request")},
        memory=(
            Memory("baseline", "resident", 4096, 900),
            Memory("baseline", "mlx_active", None, 900, "MLX is not loaded"),
        ),
    )
    steps, _, models, *reported = export_events(report, 1000, tmp_path)[1:]
    assert read_export(steps)[1] == [["500", "400", "0", "steady", "10", "3", "sdpa"]]
    assert [row[-3:] for row in read_export(models)[1]] == [
        ["1", None, "paged"],
        ["2", None, "sdpa"],
    ]
    spans, gauges, requests, tokens, results, memory = (read_export(file)[1] for file in reported)
    assert spans == [["500", "10", "admit"]]
    assert gauges == [["900", "used_blocks", "7.000000000", "count", "workload"]]
    assert requests == [
        ["400", "0", "completed", "5", "2", "100", "500", "600", "2", ""],
        ["450", "1", "unfinished", "5", "2", None, None, None, "0", ""],
    ]
    assert tokens == [["900", "0", "0"], ["1000", "0", "1"]]
    assert results == [
        ["0", "error", "0.00000025000000000000", "", "neither", ""],
        ["0", "ttft", None, "ns", "lower", "no request"],
    ]
    assert memory == [
        ["-100", "baseline", "resident", "4096", ""],
        ["-100", "baseline", "mlx_active", None, "MLX is not loaded"],
    ]


def test_what_is_not_known_is_a_sentinel(tmp_path: Path, read_export: Reader) -> None:
    report = WorkloadReport(backend="cpu", phases=(Phase("prepare", 10, 20),))
    model = export_events(report, 0, tmp_path)[3]
    assert read_export(model)[1] == [["20", "cpu", "0", "0", "0", "0", "0", None, ""]]


def test_a_worker_that_never_got_ready_has_no_model(tmp_path: Path, read_export: Reader) -> None:
    for file in export_events(WorkloadReport(), 0, tmp_path):
        assert read_export(file)[1] == []


def test_tables_count_on_from_the_recorders_own(tmp_path: Path) -> None:
    files = export_events(REPORT, 0, tmp_path, first=119)
    places = [file.read_text().partition("table[")[2].partition("]")[0] for file in files]
    assert places == [str(place) for place in range(119, 129)]
