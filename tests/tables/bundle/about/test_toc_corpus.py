"""The TOC and the names of a real bundle, against its own exports."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of, remarks_of, toc_of, write_toc
from tracekit.tables.toc import Toc, TocTable, read_toc

pytestmark = pytest.mark.corpus

# The other two tables of Metal that have an export name no process.
NAMING = (
    "metal-application-encoders-list",
    "metal-driver-intervals",
    "metal-gpu-intervals",
    "time-profile",
    "time-sample",
)


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    """The folder of the bundle and its exports."""
    return next(corpus.rglob("gpu_baseline.trace")).parent


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return Bundle(folder / "gpu_baseline.trace")


@pytest.fixture(scope="module")
def exported(folder: Path) -> Toc:
    return read_toc(folder / "gpu_baseline_toc.xml")


def known(table: TocTable) -> tuple[str, tuple[tuple[str, str], ...]]:
    return table.schema, tuple(sorted(table.attributes.items()))


def test_all_tables_are_those_of_the_export(bundle: Bundle, exported: Toc) -> None:
    (made,), (real,) = toc_of(bundle).runs, exported.runs
    assert len(made.tables) == 114
    assert Counter(map(known, made.tables)) == Counter(map(known, real.tables))


def test_run_info_says_what_can_be_known_without_a_document(bundle: Bundle, exported: Toc) -> None:
    (made,), (real,) = toc_of(bundle).runs, exported.runs
    assert made.target == real.target
    assert real.device["os-version"].startswith(f"{made.device['os-version']} (")
    assert real.start_date == "2026-03-30T14:37:58.749-07:00"
    assert made.start_date == "2026-03-30T21:37:58.749Z"
    nothing = replace(made, target=None, device={}, start_date="", tables=())
    assert nothing == type(made)(1)


def test_what_is_written_reads_the_same(bundle: Bundle, tmp_path: Path) -> None:
    write_toc(bundle, tmp_path / "toc.xml")
    assert read_toc(tmp_path / "toc.xml") == toc_of(bundle)


def test_remarks_and_issues(bundle: Bundle) -> None:
    assert len(remarks_of(bundle)) == 3
    (issue,) = issues_of(bundle, bundle.runs[0])
    assert issue.startswith('Instruments noted once "Data stream: Time Mapping"')


def processes(export: Path) -> Iterator[tuple[str, int]]:
    for one in etree.parse(export).iter("process"):
        if one.get("fmt") is not None:
            yield str(one.get("fmt")), int(one.findtext("pid") or -1)


def threads(export: Path) -> Iterator[tuple[str, int, int]]:
    root = etree.parse(export).getroot()
    pids = {one.get("id"): one.findtext("pid") for one in root.iter("process")}
    values = {one.get("id"): one.text for one in root.iter("tid", "pid")}
    for one in root.iter("thread"):
        if one.get("fmt") is None:
            continue
        tid, process = one.find("tid"), one.find("process")
        assert tid is not None
        assert process is not None
        number = values[tid.get("ref") or tid.get("id")]
        inside = process.find("pid")
        pid = pids.get(process.get("ref") or "")
        if inside is not None:
            pid = values[inside.get("ref") or inside.get("id")]
        yield str(one.get("fmt")), int(number or -1), int(pid or -1)


@pytest.mark.parametrize("table", NAMING)
def test_names_are_those_of_the_export(bundle: Bundle, folder: Path, table: str) -> None:
    export, names = folder / f"xctrace_gpu_baseline_{table}.xml", bundle.runs[0].names
    assert any(processes(export))
    for text, pid in processes(export):
        assert text == f"{names.process(pid)} ({pid})"
    for text, tid, pid in threads(export):
        process = f"({names.process(pid)}, pid: {pid})"
        assert text == f"{names.thread(tid, pid)} {tid:#x} {process}"
