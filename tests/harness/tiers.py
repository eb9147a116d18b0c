"""Tiers: what a test needs decides when it runs. A plugin of pytest, loaded by tests/conftest.py.

A test that needs more than Python has a marker for it, given by hand or by a fixture that it uses.
The tests without one are the default tier: `pytest` runs these alone, `pytest --tier emulator` one
of the others, `pytest --tier all` everything. A file or a test that is named always runs.
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TIERS = ("mac", "campaign", "wheel", "server", "browser", "schemas", "emulator", "processes")
"""A test that has the markers of several belongs to the first."""
OF_FIXTURES = {
    "scenario": "processes",
    "compiled_kernels": "emulator",
    "browser": "browser",
    "postgresql": "server",
}
FEW = 3  # processes that a test of the default tier starts at most
_START = {"subprocess.Popen", "os.fork", "os.posix_spawn"}
_LEFT_OUT = pytest.StashKey[Counter[str]]()
_TIER = pytest.StashKey[str]()
_started: list[str] = []
_is_default_test_running = False


def pytest_addoption(parser: pytest.Parser) -> None:
    choices = ("default", *TIERS, "all")
    parser.addoption("--tier", action="append", choices=choices, help="run tests of this tier")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing left out.

    A property is tried with as many examples as are quick, unless a campaign or all is asked for,
    and however long one takes: machines are shared.
    """
    patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("quick", patient, max_examples=25)
    settings.register_profile("campaign", patient, max_examples=200)
    asked_tiers = set(config.option.tier or ())
    settings.load_profile("campaign" if asked_tiers & {"campaign", "all"} else "quick")
    config.stash[_LEFT_OUT] = Counter()


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_default_test_running and event in _START:
        _started.append(str(arguments[:2]))


sys.addaudithook(_note)  # once, also where pytest runs several times in one process


def _are_files_named(config: pytest.Config) -> bool:
    return any(".py" in argument for argument in config.args)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run a few named files in this process: workers take a second to start.

    Else there is one for each processor that may be used; xdist would count cores alone, which
    may be half of that.
    """
    if _are_files_named(config) and len(config.args) < 4:
        return 0
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else None


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test, by its markers, fixtures and parameters."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    words = {value for value in parameters.values() if isinstance(value, str)}
    needs = words.union(getattr(item, "fixturenames", ()))
    markers = {mark.name for mark in item.iter_markers()}
    markers |= {OF_FIXTURES[need] for need in OF_FIXTURES.keys() & needs}
    return next((tier for tier in TIERS if tier in markers), "default")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for nothing to free among what stays to the end: all tests and their modules."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.stash[_TIER] = tier_of(item)
        if item.stash[_TIER] == "mac" and sys.platform != "darwin":
            item.add_marker(pytest.mark.skip(reason="it needs a Mac with Xcode"))
    asked_tiers = set(config.option.tier or ["default"])
    is_whole_run = "all" in asked_tiers or config.option.markexpr or config.getoption("lf", False)
    if is_whole_run or (not config.option.tier and _are_files_named(config)):
        return
    left_out_items = [item for item in items if item.stash[_TIER] not in asked_tiers]
    config.hook.pytest_deselected(items=left_out_items)
    config.stash[_LEFT_OUT] = Counter(item.stash[_TIER] for item in left_out_items)
    items[:] = [item for item in items if item.stash[_TIER] in asked_tiers]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    global _is_default_test_running  # noqa: PLW0603  an audit hook knows no test
    _started.clear()
    _is_default_test_running = item.stash[_TIER] == "default"
    try:
        yield
    finally:
        _is_default_test_running = False
    if len(_started) > FEW:
        pytest.fail(f"Mark this test as `processes` or `emulator`: it started {_started}.")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the process that reports what this worker of xdist left out."""
    config: Any = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker left out: all of them collect the same tests."""
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out_counts = terminalreporter.config.stash[_LEFT_OUT]
    if left_out_counts and not terminalreporter.config.option.tier:
        tiers = ", ".join(
            f"{left_out_counts[tier]} {tier}" for tier in TIERS if left_out_counts[tier]
        )
        terminalreporter.section("left out")
        terminalreporter.line(
            f"{left_out_counts.total()} tests that need more than Python: {tiers}."
        )
        terminalreporter.line(
            "uv run --group dev pytest --tier all runs everything, --tier TIER one of them."
        )
