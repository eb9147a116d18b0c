"""The sealed exams are as they were sealed, and the recordings hold the rows that were meant."""

import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from command_line import run
from scorer import Label, read_labels, score
from take import EXAMS
from tracekit.base import Recording
from tracekit.pipeline import tables_of

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "explanation" / "how-good-are-the-rules.md"
FOLDERS = {
    "first": HERE / "sealed",
    "second": HERE / "second",
    "third": HERE / "third",
    "fourth": HERE / "fourth",
    "fifth": HERE / "fifth",
}
# The exams whose labels were tried on other wordings.
WORDED = ("second", "third", "fourth", "fifth")
DIGESTS = {
    "first": {
        "__init__.py": "1807788e2d96dfcaf0038d9a01fdfd0771e0fbcc5eb4ff9c712b622922114000",
        "exports.py": "a32469e64bc4753dfbdaaf1b9bb2478342f91e9dfcd8a49997542e2710ede068",
        "labels.toml": "0df00e435e6f0ae2a56e85eb50f1e74d6dcb1f43d2d7ed76131b118851a7baeb",
        "mac.py": "9518e70c2d706b72e7325488744f2e20242e7ace5b90e2b91edd82a083520304",
        "problems.py": "ca4243059027cb24ea9c48d917d5298f4cc7abf16e99e13d59da1218e6bcaed4",
    },
    "second": {
        "__init__.py": "66c069645e05e89d6060492c126a226df58ee72d72a8794e11071459db2a89e1",
        "labels.toml": "57054f4acc6746aab79ccdd2d4f5cbdce47555888bf390fd2c1f57d9f7a3490d",
        "problems.py": "a74b78572e9a5ff9af67ba3d3518511d5c8804320a3ebd46b52c3d9f90762e9e",
        "wordings.toml": "82ccb405be6ccac04509cf79fbe2348007f04c63630692cb023c2ad477992b4d",
    },
    "third": {
        "__init__.py": "659cff5a8cd3a9559f57a51f510b4db3aaf21bf252a523134fbacc1e2679a9e9",
        "counters.py": "0cc3477d83cd3c4d9ace941b40c0cb48615ec2fa41e473f1e01481d4412aeaa5",
        "labels.toml": "7fb801d21dcf26ede5c874af6c9e6cf5b19f778b0d01e4564af934f32b2d6c2e",
        "problems.py": "e3ad4a7b8fa24a3cfaee2b4c76572b7b2fbe13a9e54153fecc937d7eacb32894",
        "wordings.toml": "1a53fc1f154fe36e8e93dc3deac472d0a62890719fdf999ce1075cf85f37e66f",
    },
    "fourth": {
        "__init__.py": "05ba36c0b719eaa8bfa4b01d2d990ce839989fd26aca1d313665f8fbe3734033",
        "labels.toml": "c2e98a2b371de64985b3e05f7b34f729a99f08dbecb666f9cb0dd82ce306e699",
        "problems.py": "21e15cab79236cf1a5bd9620e03c587a8d9dc7e75b0a73fd90ac56e95139a1c4",
        "wordings.toml": "e9f2506b1705a2a65f6db2737643c2753698fdb7c4dae86b6ec4eb4c5a8201aa",
    },
    "fifth": {
        "__init__.py": "05ba36c0b719eaa8bfa4b01d2d990ce839989fd26aca1d313665f8fbe3734033",
        "labels.toml": "4a8e6056bc307931ba1ebb787cfa7b2fa71eb3e3c066eb3226e63804f80d3cdc",
        "problems.py": "e0dd05817ca7f2cab6774b1403fb4acf6e95567fda9596d2bd1df30a41641e9d",
        "wordings.toml": "282b5119d8952255e49e4bf1ca5d0a8e2404b0d702bc84631814f2789ff2e099",
    },
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
    "metal-gpu-counter-intervals": "gpu_counters",
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
    "solver-evals": (1260, 0, 0),
    "kept-metrics": (3600, 0, 0),
    "one-long-buffer": (41, 1, 0),
    "crossed-streams": (11110, 0, 0),
    "asked-and-answered": (10872, 0, 0),
    "withheld-kernels": (4800, 0, 0),
    "widened-weights": (2880, 0, 0),
    "copied-history": (4000, 0, 0),
    "drawable-waits": (600, 0, 0),
    "split-layers": (6500, 0, 0),
    "locked-frames": (1200, 0, 0),
    "cleared-each-step": (720, 0, 0),
    "loss-each-batch": (700, 0, 0),
    "prefill-first": (7860, 0, 0),
    "one-queued-frame": (900, 0, 0),
    "named-again": (700, 0, 0),
    "pass-by-pass": (16800, 0, 0),
    "sizes-kept": (160, 0, 0),
    "paged-weights": (1400, 0, 0),
    "decode-between-frames": (1400, 0, 0),
    "one-thread-groups": (1952, 0, 0),
    "failed-compiles": (640, 0, 640),
    "attention-ceiling": (120, 0, 0),
    "dispatch-by-dispatch": (20960, 0, 0),
    "biased-tokens": (2730, 0, 0),
    "animated-page": (560, 0, 0),
    "converted-frames": (160, 0, 0),
    "encoded-on-a-phone": (800, 0, 0),
    "wide-layout": (200, 0, 0),
    "two-at-once": (1185, 0, 0),
    "large-chunks": (4112, 0, 0),
    "swollen-batches": (256, 0, 0),
    "model-for-each-piece": (10422, 0, 0),
    "cached-prompts": (8220, 0, 0),
    "small-chunks": (1072, 0, 0),
    "ticking-promises": (13560, 0, 0),
    "splat-corners": (120, 0, 0),
    "boxed-arguments": (25000, 0, 0),
    "drained-each-batch": (600, 0, 0),
    "memoryless-frames": (600, 240, 0),
    "lengths-remembered": (840, 0, 107),
    "mapped-moves": (160, 0, 0),
    "deeper-attention": (48, 0, 0),
    "looped-draws": (700, 0, 0),
    "soaked-runs": (1080, 0, 0),
    "parallel-encoding": (400, 0, 0),
    "coasting-player": (1200, 0, 0),
}
PROBLEMS = {name: write for exam in EXAMS.values() for name, write in exam.problems.items()}


def labels_of_all() -> dict[str, Label]:
    return {
        name: label for exam in EXAMS.values() for name, label in read_labels(exam.labels).items()
    }


def readings_of(labels: dict[str, Label]) -> dict[str, list[dict[str, str]]]:
    """Return what an analysis would find that says what an expert reads in each recording."""
    return {
        name: []
        if label.healthy
        else [{"rule": "expert", "severity": "warning", "message": label.reads}]
        for name, label in labels.items()
    }


@pytest.mark.parametrize("exam", list(EXAMS))
def test_sealed_files_are_as_they_were_sealed(exam: str) -> None:
    files = sorted(FOLDERS[exam].glob("*.*"))
    digests = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    changed = sorted(set(digests.items()) ^ set(DIGESTS[exam].items()))
    assert not changed, (
        "A sealed file changed. The exam was sealed before the rules were: take the change back, "
        f"or say on docs/explanation/the-sealed-exam.md that its scores are void: {changed}"
    )


@pytest.mark.parametrize("exam", list(EXAMS))
def test_each_problem_has_a_label_that_its_own_reading_satisfies(
    exam: str, subtests: pytest.Subtests
) -> None:
    labels = read_labels(EXAMS[exam].labels)
    assert list(labels) == list(EXAMS[exam].problems)
    for name, findings in readings_of(labels).items():
        with subtests.test(name):
            assert score(labels[name], {"findings": findings}).is_right


@pytest.mark.parametrize("exam", WORDED)
def test_labels_take_other_wordings_and_no_other_diagnosis(
    exam: str, subtests: pytest.Subtests
) -> None:
    labels = read_labels(EXAMS[exam].labels)
    wordings = tomllib.loads((FOLDERS[exam] / "wordings.toml").read_text(encoding="utf-8"))
    assert list(wordings) == [name for name, label in labels.items() if not label.healthy]
    for name, kinds in wordings.items():
        for kind, right in (("right", True), ("wrong", False)):
            for words in kinds[kind]:
                with subtests.test(f"{name}, {kind}: {words}"):
                    finding = {"rule": "expert", "severity": "warning", "message": words}
                    assert score(labels[name], {"findings": [finding]}).is_right == right


@pytest.mark.parametrize("exam", WORDED)
def test_no_reading_answers_another_problem(exam: str, subtests: pytest.Subtests) -> None:
    labels = read_labels(EXAMS[exam].labels)
    readings = {name: findings for name, findings in readings_of(labels).items() if findings}
    for name, label in labels.items():
        with subtests.test(name):
            answered = [
                other_name
                for other_name, findings in readings.items()
                if score(label, {"findings": findings}).is_answered
            ]
            assert answered == ([] if label.healthy else [name])


def test_no_thread_is_one_that_the_rules_were_made_with() -> None:
    page_text = PAGE.read_text(encoding="utf-8")
    threads = [thread for label in labels_of_all().values() for thread in label.thread.split(", ")]
    assert [thread for thread in threads if thread in page_text] == []
    assert len(set(threads)) == len(threads)


@pytest.mark.parametrize(
    "name",
    [
        "pipelines-each-frame",
        "drawable-waits",
        "attention-ceiling",
        "converted-frames",
        "splat-corners",
    ],
)
def test_a_recording_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    """One short recording of each exam."""
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
    read = {schema: len(tables[TABLES[schema]]) for schema in counts}
    assert read == counts
    assert tables.warnings == ()
    target = tables["submissions"].query("target")
    assert set(target["process"]) == {labels_of_all()[name].process}
    errors, compiled = tables["command_buffer_errors"], tables["compiler_activity"]
    assert (len(target), len(errors), len(compiled)) == SUBMITTED[name]
