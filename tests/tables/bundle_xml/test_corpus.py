"""Real exports, written again: the same bytes, up to what a bundle does not hold."""

import re
from pathlib import Path

import pytest

from bundle_writer import write_bundle
from bundle_writer.from_exports import tables_of_exports
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml.write import Exported, write_exports

pytestmark = pytest.mark.corpus
FOLDER = "Oichkatzelesfrettschen+steinmarder/_history_8227983"
OTHERS = "Oichkatzelesfrettschen+steinmarder/src/re/apple/results/tranche1_raw_20260330_analysis"
EXPORTS = "xctrace_gpu_baseline_*.xml"
# Without the document, which is missing from this bundle, kinds of cores and symbols are not known.
KIND_OF_CORE = re.compile(r' \([EP] Core\)"')
FRAGMENT = re.compile(r'fmt="frag \d+"')
PLACE = re.compile(r"table\[\d+\]")


@pytest.fixture(scope="module")
def written(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    there = {one.stem.split("baseline_")[1] for one in (corpus / FOLDER).glob(EXPORTS)}
    output = tmp_path_factory.mktemp("exports") / "out"
    bundle = Bundle(corpus / FOLDER / "gpu_baseline.trace")
    return write_exports(bundle, output, there.__and__, list[str]().append)


def texts(corpus: Path, written: Exported, schema: str) -> tuple[str, str]:
    real = corpus / FOLDER / f"xctrace_gpu_baseline_{schema}.xml"
    ours = next(one for one in written.files if one.stem == schema)
    return PLACE.sub("table[1]", real.read_text(), 1), PLACE.sub("table[1]", ours.read_text(), 1)


def test_all_tables_are_written(corpus: Path, written: Exported) -> None:
    real = {one.stem.split("baseline_")[1] for one in (corpus / FOLDER).glob(EXPORTS)}
    assert {one.stem for one in written.files} == {"toc", *real}
    assert written.warnings == ()


@pytest.mark.parametrize(
    "schema",
    [
        "life-cycle-period",
        "metal-application-encoders-list",
        "metal-command-buffer-completed",
        "metal-driver-event-per-thread-intervals",
        "metal-driver-intervals",
        "metal-gpu-counter-intervals",
        "metal-gpu-intervals",
        "metal-gpu-state-intervals",
        "metal-shader-profiler-intervals",
    ],
)
def test_a_table_is_written_byte_for_byte(corpus: Path, written: Exported, schema: str) -> None:
    real, ours = texts(corpus, written, schema)
    assert ours == real


DOCUMENTED = "cpu_time_profiler"


@pytest.fixture(scope="module")
def documented(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    files = (corpus / FOLDER).glob(f"xctrace_{DOCUMENTED}_*.xml")
    there = {one.stem.removeprefix(f"xctrace_{DOCUMENTED}_") for one in files}
    output = tmp_path_factory.mktemp("documented") / "out"
    bundle = Bundle(corpus / FOLDER / f"{DOCUMENTED}.trace")
    return write_exports(bundle, output, there.__and__, list[str]().append)


@pytest.mark.parametrize(
    "schema",
    [
        "dyld-library-load",
        "gcd-perf-event",
        "life-cycle-period",
        "process-info",
        "thread-info",
        "time-profile",
        "time-sample",
    ],
)
def test_with_its_document_names_and_symbols_are_written_as_well(
    corpus: Path, documented: Exported, schema: str
) -> None:
    real = (corpus / FOLDER / f"xctrace_{DOCUMENTED}_{schema}.xml").read_text()
    ours = next(one for one in documented.files if one.stem == schema).read_text()
    assert PLACE.sub("table[1]", ours, count=1) == PLACE.sub("table[1]", real, count=1)


def test_samples_differ_in_the_kinds_of_cores_only(corpus: Path, written: Exported) -> None:
    real, ours = texts(corpus, written, "time-sample")
    assert ours == KIND_OF_CORE.sub('"', real)


def test_stacks_have_the_addresses_of_the_real_ones(corpus: Path, written: Exported) -> None:
    real, ours = texts(corpus, written, "time-profile")
    stacks = [
        [re.findall(r'<frame [^>]*(?:ref| addr)="([^"]+)"', row) for row in text.split("</row>")]
        for text in (real, ours)
    ]
    assert [len(stack) for stack in stacks[0]] == [len(stack) for stack in stacks[1]]
    found = [set(re.findall(' addr="(0x[0-9a-f]+)"', text)) for text in (real, ours)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name",
    [
        "gpu_baseline_metal-gpu-intervals",
        "gpu_baseline_metal-gpu-execution-points",
        "gpu_baseline_metal-object-label",
        "gpu_baseline_metal-current-allocated-size",
        "gpu_compare_gcd-perf-event",
        "gpu_compare_time-sample",
    ],
)
def test_an_export_made_into_a_bundle_is_written_as_it_was(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    real = corpus / OTHERS / f"xctrace_{name}.xml"
    converted = tables_of_exports([real])
    assert not converted.left_out
    bundle = write_bundle(tmp_path / "x.trace", converted.tables, info=converted.info)
    done = write_exports(Bundle(bundle), tmp_path / "out", frozenset, list[str]().append)
    expected, ours = (_alike(one.read_text()) for one in (real, done.files[1]))
    assert ours == expected


def _alike(text: str) -> str:
    """Leave out what is the bundle's own: numbers of arrays, kinds of cores, of the table."""
    return FRAGMENT.sub("", KIND_OF_CORE.sub('"', PLACE.sub("", text, 1)))
