"""The TOC and the names of a real bundle, against its own exports."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of, remarks_of, toc_of
from tracekit.tables.toc import TocTable, read_toc

pytestmark = pytest.mark.corpus


def known(table: TocTable) -> tuple[str, tuple[tuple[str, str], ...]]:
    return table.schema, tuple(sorted(table.attributes.items()))


def test_what_a_bundle_without_a_document_says_is_what_its_export_says(corpus: Path) -> None:
    folder = next(corpus.rglob("gpu_baseline.trace")).parent
    bundle = Bundle(folder / "gpu_baseline.trace")
    (made,), (real,) = toc_of(bundle).runs, read_toc(folder / "gpu_baseline_toc.xml").runs
    assert len(made.tables) == 114
    assert Counter(map(known, made.tables)) == Counter(map(known, real.tables))
    assert made.target == real.target
    assert real.device["os-version"].startswith(f"{made.device['os-version']} (")
    assert real.start_date == "2026-03-30T14:37:58.749-07:00"
    assert made.start_date == "2026-03-30T21:37:58.749Z"
    nothing = replace(made, target=None, device={}, start_date="", tables=())
    assert nothing == type(made)(1)
    assert len(remarks_of(bundle)) == 3
    (issue,) = issues_of(bundle, bundle.runs[0])
    assert issue.startswith('Instruments noted once "Data stream: Time Mapping"')
