"""The TOC and the names of a real bundle, against its own exports."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of, remarks_of, toc_of
from tracekit.tables.toc import Toc, TocTable, read_toc

pytestmark = pytest.mark.corpus


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


def test_remarks_and_issues(bundle: Bundle) -> None:
    assert len(remarks_of(bundle)) == 3
    (issue,) = issues_of(bundle, bundle.runs[0])
    assert issue.startswith('Instruments noted once "Data stream: Time Mapping"')
