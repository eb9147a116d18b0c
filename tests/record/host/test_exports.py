from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Recording, save
from tracekit.record.host.exports import intervals, process_samples, submissions
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.host.sampler import Sample
from tracekit.record.host.session import Bundle, Session
from tracekit.record.host.writer import process, thread
from tracekit.record.recorder import Recorded, quiet
from tracekit.workload.journal import Journal, StepMark, WorkloadReport

Reader = Callable[[Path], tuple[list[str], list[list[str | None]]]]

SESSION = Session(pid=7, name="python", kind="launched", origin=1000)
REPORT = WorkloadReport(
    workload="paged",
    backend="cpu",
    thread=9,
    steps=(StepMark("steady", 1100, 1130, 1900), StepMark("steady", 2000, 2010, 2500)),
)
OWNER = process("python", 7)


def test_a_step_is_an_interval_from_hand_over_to_completion() -> None:
    assert list(intervals(REPORT, SESSION)) == [
        (130, 770, "CPU", None, "paged", OWNER),
        (1010, 490, "CPU", None, "paged", OWNER),
    ]


def test_a_device_that_the_host_only_watches_is_not_called_cpu() -> None:
    report = WorkloadReport(backend="metal", steps=REPORT.steps)
    assert [row[2] for row in intervals(report, SESSION)] == ["metal, seen from the host"] * 2


def test_a_step_is_a_submission_from_its_start_to_hand_over() -> None:
    main = thread("Main Thread", 9, OWNER)
    assert list(submissions(REPORT, SESSION)) == [
        (100, 30, "paged", OWNER, main),
        (1000, 10, "paged", OWNER, main),
    ]


def test_cores_are_counted_from_two_samples() -> None:
    taken = [
        Sample(2000, cpu=100, memory=1, threads=2, voluntary=3, involuntary=4, machine=500),
        Sample(2400, cpu=300, memory=5, threads=6, voluntary=7, involuntary=None, machine=1100),
    ]
    assert list(process_samples(taken, SESSION)) == [
        (1000, OWNER, None, 1, 2, 3, 4, None),
        (1400, OWNER, 0.5, 5, 6, 7, None, 1.5),
    ]
    assert list(process_samples([], SESSION)) == []


@pytest.mark.processes
def test_a_recorded_worker_is_exported(
    work: Callable[..., Recorded],
    recorder: HostRecorder,
    recording: Recording,
    read_export: Reader,
) -> None:
    recorded = work(repeats=20)
    assert recorder.export(recording, quiet) == ()
    toc = etree.parse(recording.toc_file)
    schemas = [table.get("schema") for table in toc.iterfind("run/data/table")]
    assert {f"{schema}.xml" for schema in schemas} | {"toc.xml"} == {
        file.name for file in recording.exports.iterdir()
    }
    tables = {}
    for place, schema in enumerate(schemas, 1):
        file = recording.exports / f"{schema}.xml"
        assert f'table[{place}]\'><schema name="{schema}">' in file.read_text()
        tables[schema] = read_export(file)[1]
    assert len(tables["host-steps"]) == len(tables["host-intervals"]) == 21
    assert [row[2] for row in tables["host-phases"]] == ["prepare", "warm-up", "steady"]
    target = toc.find("run/info/target/process")
    assert target is not None
    (name, pid) = recorded.targets[0].name, recorded.targets[0].pid
    assert (target.get("name"), target.get("pid")) == (name, str(pid))
    assert {row[5] for row in tables["host-intervals"]} == {f"{name} ({pid})"}
    assert len(tables["host-process-samples"]) >= 1


@pytest.mark.processes
def test_the_toc_does_not_pass_for_instruments(
    record: Callable[..., Recorded], recorder: HostRecorder, recording: Recording
) -> None:
    record("-c", "import time; time.sleep(0.1)", "it's <odd>")
    recorder.export(recording, quiet)
    toc = etree.parse(recording.toc_file)
    summary = {one.tag: one.text or "" for one in toc.iterfind("run/info/summary/*")}
    assert summary["instruments-version"].startswith("tracekit host recorder ")
    assert "template-name" not in summary
    assert summary["end-reason"] == "Target exited"
    assert summary["time-limit"] == "30 seconds"
    assert float(summary["duration"]) >= 0.1
    target = toc.find("run/info/target/process")
    assert target is not None
    assert target.get("type") == "launched"
    assert target.get("return-exit-status") == "0"
    assert target.get("termination-reason") == "exit(0)"
    assert target.get("arguments") == "-c 'import time; time.sleep(0.1)' 'it'\"'\"'s <odd>'"
    assert [one.get("schema") for one in toc.iterfind("run/data/table")] == ["host-process-samples"]


@pytest.mark.processes
def test_a_recording_that_was_never_closed_can_be_exported(
    work: Callable[..., Recorded], recorder: HostRecorder, recording: Recording
) -> None:
    work(repeats=20)
    bundle = Bundle(recording.host_bundle)
    bundle.samples.write_bytes(bundle.samples.read_bytes()[:-5])
    save(bundle.session, Session(pid=7, name="python", kind="launched", origin=1000))
    recording.workload_file.unlink()
    recorder.export(recording, quiet)
    toc = etree.parse(recording.toc_file)
    assert float(toc.findtext("run/info/summary/duration") or 0) > 0
    assert toc.find("run/info/target/process").get("return-exit-status") is None


def test_a_target_too_quick_to_be_sampled_is_a_warning(
    recorder: HostRecorder, recording: Recording
) -> None:
    recording.host_bundle.mkdir(parents=True)
    save(Bundle(recording.host_bundle).session, SESSION)
    assert recorder.export(recording, quiet) == (
        "The target ended before two samples were taken: its load is not known.",
    )


def test_no_bundle_is_reported(recorder: HostRecorder, recording: Recording) -> None:
    with pytest.raises(RecordingError, match="holds no recording of the host recorder"):
        recorder.export(recording, quiet)


def test_a_damaged_bundle_is_reported(recorder: HostRecorder, recording: Recording) -> None:
    recording.host_bundle.mkdir(parents=True)
    Bundle(recording.host_bundle).session.write_text("{")
    with pytest.raises(InputError, match=r"session\.json cannot be read"):
        recorder.export(recording, quiet)


INTERVALS = """\
<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[12]'><schema name="host-intervals">\
<col><mnemonic>start</mnemonic><name>Start</name>\
<engineering-type>start-time</engineering-type></col>\
<col><mnemonic>duration</mnemonic><name>Duration</name>\
<engineering-type>duration</engineering-type></col>\
<col><mnemonic>channel-name</mnemonic><name>Channel</name>\
<engineering-type>string</engineering-type></col>\
<col><mnemonic>start-latency</mnemonic><name>Start Latency</name>\
<engineering-type>duration</engineering-type></col>\
<col><mnemonic>event-label</mnemonic><name>Label</name>\
<engineering-type>string</engineering-type></col>\
<col><mnemonic>process</mnemonic><name>Process</name>\
<engineering-type>process</engineering-type></col>\
</schema><row><start-time id="1" fmt="00:00.000.130">130000</start-time>\
<duration id="2" fmt="770.00 µs">770000</duration>\
<string id="3" fmt="CPU">CPU</string><sentinel/>\
<string id="4" fmt="paged">paged</string>\
<process id="5" fmt="python (7)"><pid id="6" fmt="7">7</pid></process></row>
<row><start-time id="7" fmt="00:00.001.000">1000000</start-time><duration ref="2"/>\
<string ref="3"/><sentinel/><string ref="4"/><process ref="5"/></row>
</node></trace-query-result>
"""


def test_intervals_to_the_letter(recorder: HostRecorder, recording: Recording) -> None:
    recording.host_bundle.mkdir(parents=True)
    session = Session(pid=7, name="python", kind="launched", origin=1_000_000)
    save(Bundle(recording.host_bundle).session, session)
    journal = Journal(recording.journal_file)
    journal.write("about", workload="paged", backend="cpu")
    for start in (1_100_000, 1_970_000):
        moments = {"start": start, "submitted": start + 30_000, "completed": start + 800_000}
        journal.write("step", phase="steady", **moments)
    journal.close()
    recorder.export(recording, quiet)
    assert (recording.exports / "host-intervals.xml").read_text() == INTERVALS
