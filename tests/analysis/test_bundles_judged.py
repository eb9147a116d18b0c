"""What is read from a bundle is judged as what is read from its exports."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bundle_writer import write_bundle
from bundle_writer.from_exports import tables_of_exports
from labelled.faults import FAULTS
from labelled.folder import write
from labelled.program import simulate
from small_trace import SETUP
from tracekit import pipeline
from tracekit.analysis.analyze import add_doubts
from tracekit.analysis.wording import put_into_words
from tracekit.base.recording import Recording
from tracekit.run import Run
from tracekit.tables.losses import LOSSES
from tracekit.tables.notes import DirectNote
from tracekit.tables.of_bundle import leave_in_place

# The exporter had the names of functions; this bundle came without its document, which has them.
NAMELESS = {"cpu_profile": ["leaf"]}
DOUBT = "The values of the counters were read by"


def require_equal(direct: Recording, exported: Recording, *, has_names: bool = True) -> list[str]:
    """Compare tables, metrics and findings; return which rules found something."""
    ours, theirs = Run(direct).tables, Run(exported).tables
    assert list(ours) == list(theirs)
    for name in ours:
        if name == LOSSES:  # of a bundle, that its encodings were not all compared
            continue
        places = [part.place for part in ours.list_choices(name)]
        assert [part.place for part in theirs.list_choices(name)] == places
        if not places:
            without = [] if has_names else NAMELESS.get(name, [])
            read, expected = (tables[name].drop(columns=without) for tables in (ours, theirs))
            pd.testing.assert_frame_equal(read, expected, obj=name)
    direct_result, expected = pipeline.analyze(direct), pipeline.analyze(exported)
    assert direct_result.metrics == expected.metrics
    those = [
        put_into_words(add_doubts(finding, ours.uncompared_columns))
        for finding in expected.findings
    ]
    assert has_names or [finding.saving for finding in direct_result.findings] == [
        finding.saving for finding in those
    ]
    assert not has_names or list(direct_result.findings) == those
    return [finding.rule for finding in direct_result.findings]


OTHERS = ("", "pipeline-churn", "thermal-pressure", "capture-empty")
CAMPAIGN = (pytest.param(fault, marks=pytest.mark.campaign) for fault in OTHERS)


@pytest.mark.parametrize("fault", ["low-occupancy", *CAMPAIGN])
def test_a_made_recording_is_judged_alike(tmp_path: Path, fault: str) -> None:
    setup = replace(SETUP, steps=20)
    if fault:
        setup = FAULTS[fault].put(setup, np.random.default_rng(3))
    exported = write(simulate(setup), tmp_path / "exported")
    converted = tables_of_exports(exported.exports)
    direct = Recording(tmp_path / "direct")
    direct.folder.mkdir()
    direct.save_provenance(exported.provenance())
    write_bundle(direct.bundle, converted.tables, info=converted.info)
    leave_in_place(direct.bundle, direct.exports)
    for events in exported.exports.glob("*.parquet"):  # of the workload, which no bundle has
        shutil.copy(events, direct.exports)
    rules = require_equal(direct, exported)
    assert fault in rules if fault else not rules
    assert (DOUBT in pipeline.report(direct).read_text()) == (fault == "low-occupancy")


@pytest.mark.corpus
def test_a_real_bundle_is_judged_as_its_exports_are(corpus: Path, tmp_path: Path) -> None:
    folder = next(corpus.glob("*steinmarder/_history_8227983"))
    [exported] = pipeline.import_(sorted(folder.glob("*gpu_baseline*.xml")), tmp_path / "exported")
    [direct] = pipeline.import_([folder / "gpu_baseline.trace"], tmp_path / "direct")
    schemas = tuple(file.stem for file in exported.exports.glob("*.xml") if file.stem != "toc")
    DirectNote("../recording.trace", schemas).save(direct.exports)
    # Its document, which it came without, has the duration.
    provenance = replace(direct.provenance(), duration=exported.provenance().duration)
    direct.save_provenance(provenance)
    require_equal(direct, exported, has_names=False)
