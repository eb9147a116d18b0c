"""The packaged recordings: what the generator makes, small, and labelled as made."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from practise import read_practice_labels
from shortened import DEMO_PROBLEMS
from tracekit.analysis.result import Result
from tracekit.app.demo import list_demos

DEMOS = list_demos()
SHOWN = {
    "churn": "pipeline-churn",
    "bubbles": "bubbles",
    "low-occupancy": "low-occupancy",
    "boundaries": "bubbles",
    "healthy": "",
}


@pytest.mark.parametrize("name", DEMOS)
def test_a_packaged_recording_equals_the_output_of_the_generator(name: str, tmp_path: Path) -> None:
    DEMO_PROBLEMS[DEMOS[name].made_by](tmp_path / "exports", **DEMOS[name].size)
    made = {file.name: file.read_bytes() for file in (tmp_path / "exports").iterdir()}
    with zipfile.ZipFile(DEMOS[name].file) as archive:
        packed = {Path(member).name: archive.read(member) for member in archive.namelist()}
    assert packed == made, "tests/tools/make_demo.py writes it anew"


def test_the_packaged_recordings_are_small_and_name_their_thread() -> None:
    assert sum(demo.file.stat().st_size for demo in DEMOS.values()) < 2_000_000
    labels = read_practice_labels()
    for name, demo in DEMOS.items():
        label = labels[demo.made_by]
        assert label.healthy is (name == "healthy"), name
        number = demo.thread.rpartition("/")[2]
        assert f"#{number}" in label.thread, name


@pytest.mark.parametrize("name", DEMOS)
def test_a_page_shows_the_problem_of_its_recording(
    name: str, tracekit: Any, tmp_path: Path
) -> None:
    result = tracekit("demo", name, "--output", tmp_path / "demo")
    assert result.code == 0, result.err
    run = tmp_path / "demo" / name
    assert str(run / "report.html") in result.out.splitlines()
    page = (run / "report.html").read_text()
    assert "Made by tracekit&#39;s own generator, not recorded on a machine." in page
    assert DEMOS[name].thread in page
    rules = [finding.rule for finding in Result.load(run / "result.json").findings]
    if SHOWN[name]:
        assert SHOWN[name] in rules
    else:
        severities = {str(one.severity) for one in Result.load(run / "result.json").findings}
        assert severities <= {"note"}
    assert (tmp_path / "demo/index.html").exists()


def test_a_demo_is_made_again_in_its_place_but_over_nothing_else(
    tracekit: Any, tmp_path: Path
) -> None:
    for _ in range(2):
        assert tracekit("demo", "healthy", "--output", tmp_path).code == 0
    (tmp_path / "churn").mkdir()
    (tmp_path / "churn/notes.txt").write_text("mine")
    taken = tracekit("demo", "churn", "--output", tmp_path)
    assert taken.code == 2
    assert (tmp_path / "churn/notes.txt").read_text() == "mine"
    unknown = tracekit("demo", "bubble", "--output", tmp_path)
    assert (unknown.code, "Did you mean bubbles?" in unknown.err) == (2, True)
