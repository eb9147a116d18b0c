import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError
from tracekit.workload import journal as j
from tracekit.workload.journal import Journal, Phase, StepMark, WorkloadReport, fold, mark_unclosed
from tracekit.workload.workload import Gauge, Measured, Memory, Request, Span, Work


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    new_journal = Journal(tmp_path / "workload.jsonl")
    yield new_journal
    new_journal.close()


def test_marks_become_a_report(journal: Journal) -> None:
    journal.write("about", workload="gemm", pid=7, state="preparing")
    journal.write("anchor", monotonic=5, epoch=1005)
    journal.write("phase", name="prepare", start=10)
    journal.write("model", tokens=4, bytes_read=100, flops=8)
    journal.write("specialization", name="k", at=11)
    journal.write("phase", name="steady", start=20)
    journal.write("step", phase="steady", start=20, submitted=21, completed=25)
    journal.write("block", recorded=True, start=20, end=32, steps=2)
    journal.write("warning", text="It rains.")
    journal.write("end", at=40)
    journal.write("result", name="ttft_p50", value=0.5)
    journal.write("result", name="ttft_p50", value=None, unit="ns", better="lower", reason="none")
    journal.write("variant", variant="sdpa", tokens=4, flops=9)
    journal.write("step", phase="steady", start=32, submitted=33, completed=34, variant="sdpa")
    journal.write("span", name="admit", start=32, end=33)
    journal.write("gauge", name="used_blocks", value=7, at=34, unit="count")
    journal.write("request", number=0, scheduled=30, prompt_tokens=5, output_tokens=2, tokens=[34])
    journal.write("memory", phase="steady", what="footprint", bytes=None, at=35, reason="no Mac")
    journal.write("about", state="done", complete=True)
    assert fold(journal.path) == WorkloadReport(
        workload="gemm",
        pid=7,
        state="done",
        complete=True,
        model=Work(tokens=4, bytes_read=100, flops=8),
        anchors=(j.ClockAnchor(5, 1005),),
        phases=(Phase("prepare", 10, 20), Phase("steady", 20, 40)),
        steps=(StepMark("steady", 20, 21, 25), StepMark("steady", 32, 33, 34, variant="sdpa")),
        variants={"sdpa": Work(tokens=4, flops=9)},
        spans=(Span("admit", 32, 33),),
        gauges=(Gauge("used_blocks", 7, 34, "count"),),
        requests=(Request(0, 30, 5, 2, tokens=(34,)),),
        blocks=(j.StepBlock(recorded=True, start=20, end=32, steps=2),),
        specializations=(j.Specialization("k", 11),),
        memory=(Memory("steady", "footprint", None, 35, "no Mac"),),
        results={"ttft_p50": Measured(None, "ns", "lower", "none")},
        warnings=("It rains.",),
    )


def test_an_open_phase_ends_with_its_last_step_and_not_before_it_began(journal: Journal) -> None:
    journal.write("phase", name="warm-up", start=1)
    for start in (0, 1):
        journal.write("step", phase="warm-up", start=start, submitted=2, completed=start + 2)
    assert fold(journal.path).phases == (Phase("warm-up", 1, 3),)
    journal.write("phase", name="steady", start=5)
    report = fold(journal.path)
    assert report.phases[-1] == Phase("steady", 5, 5)
    report = mark_unclosed(report, "It died.")
    assert (report.state, report.error) == ("failed", "It died.")
    assert mark_unclosed(report, "It is gone.").error == "It died."  # its own words stay


def test_marks_of_a_newer_worker_and_invalid_numbers_cost_nothing_else(journal: Journal) -> None:
    journal.write("mood", value="good")
    journal.write("about", workload="gemm", mood="good")
    journal.write("result", name="error", value=float("nan"))
    expected = WorkloadReport(workload="gemm", results={"error": Measured(None)})
    assert fold(journal.path) == expected


def test_cut_anywhere_every_whole_line_counts(journal: Journal) -> None:
    journal.write("phase", name="steady", start=0)
    for number in range(3):
        journal.write("step", phase="steady", start=number, submitted=number, completed=number)
    text = journal.path.read_bytes()
    for cut_position in range(len(text) + 1):
        journal.path.write_bytes(text[:cut_position])
        report = fold(journal.path)
        # a line is whole without its newline too
        whole_lines = sum(
            text[:cut_position].count(b'"completed":%d}' % number) for number in range(3)
        )
        assert len(report.steps) == whole_lines, cut_position
        assert report.unreadable <= 1, cut_position


def test_unknown_lines_are_counted(journal: Journal) -> None:
    for line in (
        *(b"{", b"[1]", b"\xff\xfe\x00", b'{"mark":"end"}', b'{"mark":"about","pid":"many"}'),
        *(b'{"mark":"step","phase":"steady"}', b'{"mark":"phase","name":7,"start":1}'),
        *(b'{"mark":"result","name":7,"value":1}', b'{"mark":"result","name":["x"],"value":1}'),
        *(b'{"mark":"variant","variant":null}', b'{"a":' + b"[" * 9000 + b"]" * 9000 + b"}"),
    ):
        journal.path.write_bytes(b'{"mark":"about","workload":"gemm"}\n' + line + b"\n")
        assert fold(journal.path) == WorkloadReport(workload="gemm", unreadable=1), line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "workload.jsonl"
    path.symlink_to("/dev/full")
    journal = Journal(path)
    with pytest.raises(RecordingError, match="No space left on device"):
        journal.write("phase", name="steady", start=1)
    journal.close()


def test_a_partly_written_line_is_reported(journal: Journal) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        with pytest.raises(RecordingError, match="the disk is full"):
            journal.write("phase", name="steady", start=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
