"""The sealed exam is as it was sealed, and the recordings hold the rows that were meant."""

from hashlib import sha256
from pathlib import Path

import pytest

from command_line import run
from scorer import read_labels, score
from sealed.problems import PROBLEMS
from tracekit.base import Recording
from tracekit.pipeline import tables_of

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "explanation" / "how-good-are-the-rules.md"
DIGESTS = {
    "__init__.py": "1807788e2d96dfcaf0038d9a01fdfd0771e0fbcc5eb4ff9c712b622922114000",
    "exports.py": "a32469e64bc4753dfbdaaf1b9bb2478342f91e9dfcd8a49997542e2710ede068",
    "labels.toml": "0df00e435e6f0ae2a56e85eb50f1e74d6dcb1f43d2d7ed76131b118851a7baeb",
    "mac.py": "9518e70c2d706b72e7325488744f2e20242e7ace5b90e2b91edd82a083520304",
    "problems.py": "ca4243059027cb24ea9c48d917d5298f4cc7abf16e99e13d59da1218e6bcaed4",
}
TABLES = {
    "metal-gpu-intervals": "gpu_intervals",
    "metal-gpu-state-intervals": "gpu_states",
    "metal-application-command-buffer-submissions": "submissions",
    "metal-application-encoders-list": "encoders",
    "metal-command-buffer-completed": "completions",
    "metal-command-buffer-frame-assignment": "commits",
    "metal-gpu-submission-to-command-buffer-id": "gpu_submissions",
    "metal-command-buffer-error": "command_buffer_errors",
    "metal-driver-intervals": "driver_intervals",
    "metal-driver-event-intervals": "driver_events",
    "graphics-compiler-activity-intervals": "compiler_activity",
    "metal-current-allocated-size": "allocated_sizes",
    "metal-resource-allocations": "resource_allocations",
    "metal-wired-sysmem-level-interval": "wired_memory",
    "gpu-performance-state-intervals": "gpu_performance_states",
    "gpu-performance-device-state-intervals": "gpu_device_performance_states",
    "device-thermal-state-intervals": "thermal_states",
}
SUBMITTED = {  # command buffers of the target, errors, and spans of the compiler
    "sycl-launches": (6600, 0, 0),
    "polled-reads": (800, 0, 0),
    "resident-experts": (6000, 0, 0),
    "pipelines-each-frame": (24, 0, 4560),
    "staged-writes": (3848, 7, 0),
    "lengths-that-vary": (400, 0, 555),
    "asked-after-pauses": (96, 0, 0),
    "one-channel-images": (240, 0, 0),
    "beside-a-hog": (320, 0, 0),
    "at-the-roof": (6400, 0, 0),
}


def test_sealed_files_are_as_they_were_sealed() -> None:
    files = sorted((HERE / "sealed").glob("*.*"))
    digests = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    changed = sorted(set(digests.items()) ^ set(DIGESTS.items()))
    assert not changed, (
        "A sealed file changed. The exam was sealed before the rules were: take the change back, "
        f"or say on docs/explanation/the-sealed-exam.md that its scores are void: {changed}"
    )


def test_each_problem_has_a_label_that_its_own_reading_satisfies(subtests: pytest.Subtests) -> None:
    labels = read_labels()
    assert list(labels) == list(PROBLEMS)
    for name, label in labels.items():
        with subtests.test(name):
            reading = {"rule": "expert", "severity": "warning", "message": label.reads}
            findings = [] if label.healthy else [reading]
            assert score(label, {"findings": findings}).is_right


def test_no_thread_is_one_that_the_rules_were_made_with() -> None:
    known = PAGE.read_text(encoding="utf-8")
    threads = [thread for one in read_labels().values() for thread in one.thread.split(", ")]
    assert [thread for thread in threads if thread in known] == []


@pytest.mark.parametrize("name", ["pipelines-each-frame", "one-channel-images"])
def test_a_recording_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    counts = [PROBLEMS[name](tmp_path / copy) for copy in ("first", "second")]
    assert counts[0] == counts[1]
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


@pytest.mark.campaign
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_a_recording_is_imported_with_the_rows_that_were_meant(name: str, tmp_path: Path) -> None:
    counts = PROBLEMS[name](tmp_path / "exports")
    assert run("import", tmp_path / "exports", "--output", tmp_path / "run") == 0
    tables = tables_of(Recording(tmp_path / "run"))
    read = {schema: len(tables[table]) for schema, table in TABLES.items()}
    assert read == counts
    assert tables.warnings == ()
    target = tables["submissions"].query("target")
    assert set(target["process"]) == {read_labels()[name].process}
    errors, compiled = tables["command_buffer_errors"], tables["compiler_activity"]
    assert (len(target), len(errors), len(compiled)) == SUBMITTED[name]
