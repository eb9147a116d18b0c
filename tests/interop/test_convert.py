"""`tracekit convert RUN --to …`, as people call it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from command_line import assert_error

STACKS = """<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'><schema name="time-profile">\
<col><mnemonic>time</mnemonic><name>Time</name><engineering-type>sample-time</engineering-type></col>\
<col><mnemonic>thread</mnemonic><name>Thread</name><engineering-type>thread</engineering-type></col>\
<col><mnemonic>process</mnemonic><name>Process</name>\
<engineering-type>process</engineering-type></col>\
<col><mnemonic>weight</mnemonic><name>Weight</name><engineering-type>weight</engineering-type></col>\
<col><mnemonic>stack</mnemonic><name>Stack</name><engineering-type>backtrace</engineering-type></col>\
</schema><row><sample-time id="1" fmt="00:00.001">1000</sample-time>\
<thread id="2" fmt="Main Thread"><tid id="3" fmt="0x9">9</tid><process id="4" fmt="python3 (7)">\
<pid id="5" fmt="7">7</pid><device-session id="6" fmt="TODO">TODO</device-session></process>\
</thread>\
<process ref="4"/><weight id="7" fmt="1.00 ms">1000000</weight><backtrace id="8">\
<frame id="9" name="leaf" addr="0x10"><binary id="10" name="libm.dylib" UUID="A" arch="arm64" \
load-addr="0x1" path="/usr/lib/libm.dylib"/></frame><frame id="11" name="main" addr="0x20">\
<binary ref="10"/></frame></backtrace></row>
<row><sample-time id="12" fmt="00:00.002">2000</sample-time><thread ref="2"/><process ref="4"/>\
<weight ref="7"/><backtrace id="13"><frame ref="11"/></backtrace></row>
<row><sample-time id="14" fmt="00:00.003">3000</sample-time><thread ref="2"/><process ref="4"/>\
<weight ref="7"/><sentinel/></row>
</node></trace-query-result>
"""


@pytest.fixture
def run(tracekit: Any, tmp_path: Path, intervals_xml: Callable[..., str]) -> Path:
    (tmp_path / "gpu.xml").write_text(intervals_xml([(0, 10, 7, "a"), (20, 10, 7, "b")]))
    (tmp_path / "cpu.xml").write_text(STACKS)
    folder = tmp_path / "run"
    exports = (tmp_path / "gpu.xml", tmp_path / "cpu.xml")
    result = tracekit("import", *exports, "--target", "7", "--output", folder)
    assert result.code == 0, result.err
    return folder


def test_a_run_becomes_a_trace_of_perfetto_below_its_folder(tracekit: Any, run: Path) -> None:
    assert tracekit("analyze", run).code == 0
    result = tracekit("convert", run, "--to", "perfetto")
    assert result.code == 0, result.err
    file = run / "convert" / "run.pftrace"
    assert result.out.splitlines() == [str(file)]
    trace = Trace.FromString(file.read_bytes())
    names = [name.name for packet in trace.packet for name in packet.interned_data.event_names]
    assert names.count("paged") == 1
    assert "GPU" in [packet.track_descriptor.name for packet in trace.packet]


def test_stacks_become_a_profile_for_each_thread(tracekit: Any, run: Path, tmp_path: Path) -> None:
    output_file = tmp_path / "stacks.json"
    assert tracekit("convert", run, output_file, "--to", "speedscope").code == 0
    document = json.loads(output_file.read_text())
    frames = [{"name": name, "file": "libm.dylib"} for name in ("leaf", "main")]
    assert document["shared"]["frames"] == frames
    profile = {"type": "sampled", "name": "python3 (7), thread 9", "unit": "nanoseconds"}
    profile |= {"startValue": 0, "endValue": 2_000_000}
    samples = {"samples": [[1, 0], [1]], "weights": [1_000_000, 1_000_000]}
    assert document["profiles"] == [profile | samples]


def test_every_table_becomes_a_file_and_one_that_cannot_be_read_is_named(
    tracekit: Any, run: Path, tmp_path: Path
) -> None:
    readers = {"parquet": pd.read_parquet, "csv": pd.read_csv, "feather": pd.read_feather}
    for to, read in readers.items():
        output_folder = tmp_path / to
        assert tracekit("convert", run, output_folder, "--to", to).code == 0
        assert (output_folder / f"cpu_profile.{to}").is_file()
        assert read(output_folder / f"gpu_intervals.{to}")["start"].tolist() == [0, 20], to
    [export] = [file for file in (run / "exports").glob("*.xml") if "gpu" in file.read_text()]
    export.write_text(export.read_text().replace("<row>", "<!DOCTYPE x><row>", 1)[:900])
    result = tracekit("convert", run, tmp_path / "files", "--to", "csv", "--verbose")
    assert result.code == 3
    assert "warning: gpu_intervals: " in result.err
    assert (tmp_path / "files" / "cpu_profile.csv").exists()


def test_names_of_people_are_left_out_unless_asked_for(
    tracekit: Any, tmp_path: Path, intervals_xml: Callable[..., str]
) -> None:
    home = str(Path.home() / "secret")
    (tmp_path / "gpu.xml").write_text(intervals_xml([(0, 10, 7, home)]))
    run = tmp_path / "run"
    exports = ("import", tmp_path / "gpu.xml", "--target", "7", "--output", run)
    assert tracekit(*exports).code == 0
    output_file = tmp_path / "out.json"
    assert tracekit("convert", run, output_file, "--to", "chrome").code == 0
    assert home not in output_file.read_text()
    assert tracekit("convert", run, output_file, "--to", "chrome", "--no-redact").code == 0
    assert home in output_file.read_text()


def test_impossible_requests_are_refused(
    tracekit: Any, run: Path, tmp_path: Path, intervals_xml: Callable[..., str]
) -> None:
    export = tmp_path / "a.xml"
    export.write_text(intervals_xml([]))
    for arguments, message in (
        ((run,), "perfetto:"),
        ((run, "--to", "perfetto", "--table", "1"), "as a whole"),
        ((run, "--to", "svg"), "svg"),
        ((export,), ".parquet"),
    ):
        assert_error(tracekit("convert", *arguments), 2, message)


def test_a_run_without_stacks_has_no_profile(tracekit: Any, imported: Path, tmp_path: Path) -> None:
    result = tracekit("convert", imported, tmp_path / "out.json", "--to", "speedscope")
    assert_error(result, 3, "no samples of threads")
    assert not (tmp_path / "out.json").exists()


def test_a_place_that_is_taken_loses_nothing(tracekit: Any, run: Path, tmp_path: Path) -> None:
    assert_error(tracekit("convert", run, tmp_path, "--to", "chrome"), 3, "is a folder")
    (tmp_path / "taken").write_text("kept")
    result = tracekit("convert", run, tmp_path / "taken", "--to", "parquet")
    assert result.code == 2
    assert (tmp_path / "taken").read_text() == "kept"
