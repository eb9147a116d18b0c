"""The machinery of these tests: tiers by what a test needs, surroundings by a seed."""

from pathlib import Path

import pytest

from surroundings import LANGUAGES, ZONES, surroundings

pytest_plugins = ["pytester"]

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
def test_what_needs_more_is_left_out_and_what_hides_it_fails(suite: pytest.Pytester) -> None:
    ended = suite.runpytest_subprocess("--numprocesses=0")
    ended.assert_outcomes(passed=1, failed=1, deselected=4)
    ended.stdout.fnmatch_lines([
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
    ended = suite.runpytest_subprocess("--numprocesses=0", *arguments)
    assert ended.parseoutcomes()["passed"] == passed
    assert "failed" not in ended.parseoutcomes()


def test_a_seed_has_its_surroundings_and_many_seeds_have_all() -> None:
    drawn = [surroundings(seed) for seed in range(60)]
    assert drawn == [surroundings(seed) for seed in range(60)]
    assert {one["TZ"] for one in drawn} == set(ZONES)
    assert {one["LANG"] for one in drawn} == set(LANGUAGES)
    assert len({one["PYTHONHASHSEED"] for one in drawn}) == len(drawn)
