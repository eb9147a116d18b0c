"""Commands that read and judge: analyze, tables, convert, rules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

Xml = Callable[..., str]
Run = Callable[..., Any]


def test_a_recording_that_was_cut_short_is_said_again_after_its_analysis(
    tracekit: Run, imported: Path
) -> None:
    file = imported / "recording.json"
    document = json.loads(file.read_text())
    document["stages"] = {"record": {"state": "running", "at": "t"}}
    file.write_text(json.dumps(document))
    assert "warning: The stage record was not completed." in tracekit("analyze", imported).err
    tracekit("report", imported)
    assert "The stage record was not completed." in (imported / "report.html").read_text()


def test_a_recording_without_rows_of_its_target_is_no_success(
    tracekit: Run, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml
) -> None:
    (tmp_path / "toc.xml").write_text(toc_xml())
    (tmp_path / "t.xml").write_text(intervals_xml([(0, 1, 420, "WindowServer")]))
    tracekit("import", tmp_path / "toc.xml", tmp_path / "t.xml", "--output", tmp_path / "run")
    ran = tracekit("analyze", tmp_path / "run")
    assert ran.code == 4
    assert "no device interval of python3 (4711): all 1 belong to others" in ran.err
    assert "tracekit rules capture-empty" in ran.err


def test_tables_are_listed_shown_and_written(tracekit: Run, imported: Path, tmp_path: Path) -> None:
    listed = tracekit("tables", imported)
    assert "\ngpu_intervals\t3\t" in listed.out
    shown = tracekit("tables", imported, "gpu_intervals", "--rows", "2")
    head, *rows = shown.out.splitlines()
    assert head.startswith("start\tduration\tchannel")
    assert len(rows) == 2
    assert "1 more rows" in shown.err
    assert "more rows" not in tracekit("tables", imported, "gpu_intervals", "--rows", "3").err
    written = tracekit("tables", imported, "gpu_intervals", "--output", tmp_path / "t.csv")
    assert written.code == 0
    assert pd.read_csv(tmp_path / "t.csv")["target"].tolist() == [True, True, False]


def test_convert_writes_the_rows_before_damage_and_fails(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a"), (20, 10, 1, "a"), (40, 10, 1, "a")])
    (tmp_path / "cut.xml").write_text(text[: text.rindex("<row>") + 30])
    ran = tracekit("convert", tmp_path / "cut.xml", tmp_path / "out.csv")
    assert ran.code == 3
    assert "cut.xml" in ran.err
    assert pd.read_csv(tmp_path / "out.csv")["start"].tolist() == [0, 20]


def _two_tables(text: str) -> str:
    """Give an export its table twice, as those of two places and two lengths."""
    begin, end = text.index("<node"), text.index("</trace-query-result>")
    node = text[begin:end]
    rows = node.partition("</schema>")[2]
    again = node.replace("table[1]", "table[2]").replace(rows, rows.partition("</row>")[0])
    return text[:begin] + node + again + "</row></node>" + text[end:]


def test_convert_takes_the_table_that_is_chosen(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml, toc_xml: Callable[..., str]
) -> None:
    text = intervals_xml([(0, 10, 1, "a"), (20, 10, 1, "a")])
    (tmp_path / "two.xml").write_text(_two_tables(text))
    (tmp_path / "toc.xml").write_text(toc_xml(tables=2).replace('"ALL"', '"SINGLE"', 1))
    out = tmp_path / "out.csv"
    unclear = tracekit("convert", tmp_path / "two.xml", out)
    assert unclear.code == 3
    assert "run 1 table 1 (target-pid=SINGLE), with 2 rows" in unclear.err
    assert "run 1 table 2 (target-pid=ALL), with 1 row" in unclear.err
    assert "--table" in unclear.err
    assert not out.exists()
    assert tracekit("convert", tmp_path / "two.xml", out, "--table", "2").code == 0
    assert pd.read_csv(out)["start"].tolist() == [0]
    assert tracekit("convert", tmp_path / "two.xml", out, "--run", "2").code == 3


def test_convert_names_the_files_of_stacks_and_what_drifted(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a")])
    stack = '<backtrace id="901"><frame id="902" name="leaf" addr="0x1"/></backtrace>'
    text = text.replace("formatted-label</eng", "backtrace</eng").replace(">10<", ">ten<")
    begin, end = text.index("<formatted-label id"), text.index("</formatted-label>")
    text = text[:begin] + stack + text[end:].removeprefix("</formatted-label>")
    (tmp_path / "stacks.xml").write_text(text)
    ran = tracekit("convert", tmp_path / "stacks.xml", tmp_path / "out.parquet")
    assert ran.code == 0, ran.err
    names = ["out.parquet", "out.frames.parquet", "out.stacks.parquet"]
    assert ran.out.split() == [str(tmp_path / name) for name in names]
    assert "event-label.stack" in pd.read_parquet(tmp_path / "out.parquet")
    assert "NAME.stack" in ran.err
    assert "duration is declared as duration and holds what is no integer" in ran.err


def test_tables_shows_a_line_for_each_repeat(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 7, "a"), (20, 10, 7, "a")])
    (tmp_path / "two.xml").write_text(_two_tables(text))
    folder = tmp_path / "run"
    assert tracekit("import", tmp_path / "two.xml", "--target", "7", "--output", folder).code == 0
    ran = tracekit("tables", folder)
    lines = [line.split("\t")[:2] for line in ran.out.splitlines()]
    assert ["gpu_intervals (run 1 table 1 in metal-gpu-intervals.xml)", "2"] in lines
    assert ["gpu_intervals (run 1 table 2 in metal-gpu-intervals.xml)", "1"] in lines
    unclear = tracekit("tables", folder, "gpu_intervals")
    assert unclear.code == 3
    assert "2 tables of metal-gpu-intervals" in unclear.err
    shown = tracekit("tables", folder, "gpu_intervals", "--table", "2")
    assert shown.code == 0
    assert len(shown.out.splitlines()) == 2
    analyzed = tracekit("analyze", folder)
    assert "bubbles" in analyzed.out.partition("not checked  ")[2]
    assert "2 tables of metal-gpu-intervals" in analyzed.out
