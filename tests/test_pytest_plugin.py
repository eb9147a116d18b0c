"""The plugin of pytest, in sessions of its own: limits that fail, pass, or cannot be judged."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks

pytestmark = pytest.mark.processes
PLUGIN = ("-p", "no:tracekit", "-p", "tracekit.pytest_plugin", "-p", "no:randomly")
ROOT = Path(__file__).parents[1]


def run_test(
    pytester: pytest.Pytester,
    mark: str,
    body: str = 'tables("mine.trace")',
    fixture: str = "tables",
) -> pytest.RunResult:
    """Run one test with the mark; `mine.trace` is a device that is idle for 70.8 %.

    It is a process of its own, because pytester forgets the modules that it imported itself.
    """
    rows = intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON))
    bundle = pytester.path / "mine.trace"
    if not bundle.exists():
        write_bundle(bundle, [ticks([1]), rows], info=RunInfo())
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.tracekit({mark})
        def test_decoding({fixture}):
            {body}
        """
    )
    return pytester.runpytest_subprocess(*PLUGIN, "-q", "-rs", "--strict-markers")


def test_a_recording_within_its_limits_passes(pytester: pytest.Pytester) -> None:
    run_test(pytester, 'max_idle=0.8, no=["gpu-contended"]').assert_outcomes(passed=1)


def test_a_recording_beyond_its_limits_fails_with_a_sentence(pytester: pytest.Pytester) -> None:
    result = run_test(pytester, 'max_idle=0.1, no=["schema-drift", "hot-allocations"]')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["The device was idle for 70.8 %, at most 10.0 %."])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_limit_that_cannot_be_judged_skips_with_the_reason(pytester: pytest.Pytester) -> None:
    result = run_test(pytester, 'max_idle=0.8, no=["hot-allocations"]')
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*hot-allocations did not judge: the recording has no table*"])


def test_wrong_marks_fail_and_suggest_names(pytester: pytest.Pytester) -> None:
    cases = {
        'no=["pipeline-chrun"]': "There is no rule 'pipeline-chrun'. Did you mean pipeline-churn?",
        "max_idel=0.1": "There is no limit of the mark tracekit 'max_idel'. Did you mean max_idle?",
        "0.1": "The mark tracekit takes names: *",
    }
    for mark, sentence in cases.items():
        result = run_test(pytester, mark)
        assert result.parseoutcomes() == {"failed": 1}, mark
        result.stdout.fnmatch_lines([sentence])


def test_a_mark_without_a_recording_fails(pytester: pytest.Pytester) -> None:
    result = run_test(pytester, "max_idle=0.1", "pass")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["The mark tracekit needs a recording: use*"])


def test_a_test_that_fails_by_itself_keeps_its_own_error(pytester: pytest.Pytester) -> None:
    result = run_test(pytester, "max_idle=0.1", 'assert "dispatches" in tables("mine.trace")')
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("The device was idle*")


def test_a_workload_is_captured_without_a_mac(pytester: pytest.Pytester) -> None:
    body = 'capture("rmsnorm-linear", recorder="host", repeats=3)'
    result = run_test(pytester, 'max_idle=1.0, no=["low-occupancy"]', body, "capture")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*low-occupancy did not judge: *"])


def test_a_session_without_recordings_pays_nothing() -> None:
    lines = (
        "import sys, pytest; before = set(sys.modules); import tracekit.pytest_plugin\n"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['lazy_loader', 'tracekit']"


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tracekit": "tracekit.pytest_plugin"}
