"""The machinery of these tests: tiers by what a test needs, surroundings by a seed."""

import os
import re
import subprocess
import sys
import tomllib
from inspect import cleandoc
from pathlib import Path

import pytest

from surroundings import LANGUAGES, ZONES, surroundings, without_settings

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]

TESTS = """
    import subprocess, sys
    import pytest

    def start(processes):
        for _ in range(processes):
            subprocess.run([sys.executable, "-I", "-S", "-c", ""])

    @pytest.fixture
    def scenario():
        pass

    def test_few(): start(3)
    def test_many(): start(4)
    def test_by_its_fixture(scenario): start(4)
    @pytest.mark.emulator
    def test_by_its_marker(): pass
    @pytest.mark.parametrize("needed", ["browser"])
    def test_by_its_parameter(needed): pass
    @pytest.mark.processes
    @pytest.mark.campaign
    def test_of_two_tiers(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "harness"))
    pytester.makeconftest('pytest_plugins = ["tiers"]')
    pytester.makeini("[pytest]\nmarkers =\n  processes\n  emulator\n  campaign\n")
    pytester.makepyfile(TESTS)
    return pytester


@pytest.mark.processes
def test_tests_with_further_needs_are_left_out_and_hidden_ones_fail(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("--numprocesses=0")
    result.assert_outcomes(passed=1, failed=1, deselected=4)
    result.stdout.fnmatch_lines([
        "*Mark this test as `processes`*",
        "4 tests that need more than Python: 1 campaign, 1 browser, 1 emulator, 1 processes.",
    ])  # fmt: skip


@pytest.mark.processes
@pytest.mark.parametrize(("arguments", "passed"), [
    (["--tier=processes"], 1),
    (["--tier=emulator", "--tier=campaign"], 2),
    (["--tier=all", "-k", "not many"], 5),
])  # fmt: skip
def test_a_tier_that_is_asked_for_runs(
    suite: pytest.Pytester, arguments: list[str], passed: int
) -> None:
    result = suite.runpytest_subprocess("--numprocesses=0", *arguments)
    assert result.parseoutcomes()["passed"] == passed
    assert "failed" not in result.parseoutcomes()


def test_settings_of_a_machine_are_cleared_and_needs_of_programs_stay() -> None:
    needed = {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "TMPDIR": "/a b",
        "PYTHONPATH": "/lib",
        "CXX": "clang++",
        "TRACEKIT_CORPUS": "/corpus",
        "TRACEKIT_SCHEMAS": "/schemas",
    }
    settings = (
        *("GIT_DIR", "GIT_AUTHOR_DATE", "LC_ALL", "LANGUAGE", "TERM", "NO_COLOR", "FORCE_COLOR"),
        *("COLUMNS", "PYTHONSTARTUP", "PYTHONWARNINGS", "PYTEST_ADDOPTS", "XDG_CONFIG_HOME"),
        *("PGHOST", "http_proxy", "HTTPS_PROXY", "GITHUB_STEP_SUMMARY", "TRACEKIT_CACHE"),
    )
    environment = without_settings(needed | dict.fromkeys(settings, "x"))
    assert environment.keys() - needed == {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "FAKE_XCTRACE_PYTHON"),
    }
    assert needed.items() <= environment.items()


def test_a_seed_has_its_surroundings_and_many_seeds_have_all() -> None:
    drawn = [surroundings(seed) for seed in range(60)]
    assert drawn == [surroundings(seed) for seed in range(60)]
    assert {environment["TZ"] for environment in drawn} == set(ZONES)
    assert {environment["LANG"] for environment in drawn} == set(LANGUAGES)
    assert len({environment["PYTHONHASHSEED"] for environment in drawn}) == len(drawn)


def test_the_readmes_run_has_a_fixed_seed_and_that_of_ci_a_drawn_one() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    seeds = [option for option in settings["addopts"] if "randomly" in option]
    assert [re.fullmatch(r"--randomly-seed=\d+", option) is not None for option in seeds] == [True]
    script = (ROOT / ".ci" / "run").read_text()
    drawn, printed, use_position = (
        script.find(words)
        for words in ("\nSEED=${SEED:-$((RANDOM", "SEED=$SEED .ci/run", '--randomly-seed="$SEED"')
    )
    assert 0 <= drawn < printed < use_position
    runs = [line for line in script.splitlines() if line.startswith("uv run --group dev pytest")]
    assert ['--randomly-seed="$SEED"' in line for line in runs] == [True]
    recipes = (ROOT / "justfile").read_text()
    assert "\ncampaign: && seeds\n" in recipes
    seeds = "\nseeds *numbers:\n    uv run --group dev python tests/tools/seeds.py {{numbers}}\n"
    assert seeds in recipes


COSTLY = """
    import subprocess, sys

    def test_idle(): pass

    def test_of_a_process():
        subprocess.run([sys.executable, "-I", "-S", "-c", "sum(range(20_000_000))"])
"""


@pytest.mark.processes
@pytest.mark.parametrize("workers", [0, 1])
def test_the_costliest_tests_are_shown(
    workers: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "harness"))
    pytester.makeconftest('pytest_plugins = ["costs"]')
    pytester.makepyfile(test_costly=COSTLY)
    result = pytester.runpytest_subprocess(f"--numprocesses={workers}", "--costs=1")
    lines = result.outlines[
        result.outlines.index(next(line for line in result.outlines if "processor time" in line)) :
    ]
    assert re.fullmatch(r" +\d+\.\d s, 2 tests", lines[1]), lines
    names = [line.partition(" s  ")[2] for line in lines if " s  " in line]
    assert names == ["test_costly.py", "test_costly.py::test_of_a_process"]


SURROUNDED = """
    import os, time
    from hypothesis import given, strategies

    def test_surroundings():
        print("TZ", time.tzname, "LANG", os.environ["LANG"], "LC_ALL", os.environ.get("LC_ALL"))
        print("hashes of", hash("seed"))

    @given(strategies.integers())
    def test_examples(number):
        print("example", number)
"""


def run_in_surroundings(folder: Path, *arguments: str, **environment: str) -> str:
    """Return what tests print, run by a worker with the settings of pyproject.toml."""
    file = folder / "test_surrounded.py"
    file.write_text(cleandoc(SURROUNDED))
    (folder / "conftest.py").write_text('pytest_plugins = ["surroundings"]\n')
    words = ["-p", "no:cacheprovider", "--numprocesses=1", "-rP", "--no-header", *arguments]
    settings = [f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml")]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, *words, str(file)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "harness"), **environment},
    )
    prefixes = ("TZ", "hashes", "example", "____")
    return "\n".join(line for line in result.stdout.splitlines() if line.startswith(prefixes))


@pytest.mark.processes
def test_a_run_without_options_is_the_same_whatever_the_terminal_has_set(tmp_path: Path) -> None:
    first_output = run_in_surroundings(
        tmp_path, TZ="JST-9", LANG="fr_FR.UTF-8", PYTHONHASHSEED="random"
    )
    assert first_output.count("example") >= 40
    assert "LC_ALL None" in first_output
    assert (
        run_in_surroundings(tmp_path, TZ="UTC0", LC_ALL="C", LANGUAGE="de", PYTHONHASHSEED="7")
        == first_output
    )
    other_output = run_in_surroundings(tmp_path, "--randomly-seed=2")
    assert [
        line in first_output for line in other_output.splitlines() if line.startswith("hashes")
    ] == [False]
    examples = [line for line in other_output.splitlines() if line.startswith("example")]
    assert examples != [line for line in first_output.splitlines() if line.startswith("example")]


@pytest.mark.processes
def test_the_fixed_seed_needs_no_plugin_that_shuffles(tmp_path: Path) -> None:
    """As mutmut runs the tests, and whoever wants them in the order of their files."""
    words = ["--collect-only", "-q", "-p", "no:randomly", "--numprocesses=0"]
    argv = [sys.executable, "-m", "pytest", *words, "tests/test_suite.py"]
    result = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr


SEEDED = """
def test_fails_with_one_seed(pytestconfig):
    assert pytestconfig.getoption("randomly_seed") != 12
"""


@pytest.mark.processes
def test_seeds_all_run_and_those_that_failed_are_named(tmp_path: Path) -> None:
    (tmp_path / "test_seeded.py").write_text(SEEDED)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def seeds(*words: str) -> "subprocess.CompletedProcess[str]":
        program = str(ROOT / "tests" / "tools" / "seeds.py")
        argv = [sys.executable, program, *words, "--", "--numprocesses=0"]
        return subprocess.run(argv, check=False, capture_output=True, text=True, cwd=tmp_path)

    result = seeds("11", "12", "13")
    outcomes = re.findall(r"^seed (\d+): (passed|FAILED)", result.stdout, re.MULTILINE)
    assert outcomes == [("11", "passed"), ("12", "FAILED"), ("13", "passed")]
    assert "assert 12 != 12" in result.stdout
    assert result.returncode == 1
    assert result.stderr == "1 of 3 seeds failed: 12\nAgain: just seeds 12\n"
    drawn = seeds("--count", "2")
    assert drawn.returncode == 0
    assert len(set(re.findall(r"^seed (\d+): passed", drawn.stdout, re.MULTILINE))) == 2
