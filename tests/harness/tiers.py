"""Tiers: what a test needs decides when it runs. A plugin of pytest, loaded by tests/conftest.py.

A test that needs more than Python has a marker for it, given by hand (`pytestmark`) or by a fixture
that it uses. Without arguments pytest runs the tests that have none of them; `--all` runs
everything, `-m emulator` one tier, and a file or a test that is named always runs.
"""

from collections import Counter
from typing import Any

import pytest

TIERS = ("processes", "emulator", "browser", "server", "campaign", "wheel")
OF_FIXTURES = {
    "scenario": "processes",
    "compiled_kernels": "emulator",
    "browser": "browser",
    "chromium": "browser",
    "postgresql": "server",
}
_LEFT_OUT = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`."""
    parser.addoption("--all", action="store_true", dest="all_tiers", help="run all tiers")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing left out."""
    config.stash[_LEFT_OUT] = Counter()


def _are_tiers_asked_for(config: pytest.Config) -> bool:
    options = config.option
    return bool(options.all_tiers or options.markexpr or options.lf or _are_files_named(config))


def _are_files_named(config: pytest.Config) -> bool:
    return any(".py" in argument for argument in config.args)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run a few named files in this process: workers take a second to start."""
    return 0 if _are_files_named(config) and len(config.args) < 4 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures; leave out what is not in the default tier."""
    for item in items:
        for fixture in OF_FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(OF_FIXTURES[fixture])
    if _are_tiers_asked_for(config):
        return
    tiers = {item: next((t for t in TIERS if item.get_closest_marker(t)), "") for item in items}
    left_out = [item for item in items if tiers[item]]
    config.hook.pytest_deselected(items=left_out)
    config.stash[_LEFT_OUT] = Counter(tiers[item] for item in left_out)
    items[:] = [item for item in items if not tiers[item]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the process that reports what this worker of xdist left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker left out: all of them collect the same tests."""
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and how to run it."""
    left_out = terminalreporter.config.stash[_LEFT_OUT]
    if left_out:
        tiers = ", ".join(f"{left_out[tier]} {tier}" for tier in TIERS if left_out[tier])
        terminalreporter.section("left out")
        terminalreporter.line(f"{left_out.total()} tests that need more than Python: {tiers}.")
        terminalreporter.line("uv run pytest --all runs everything, uv run pytest -m TIER one.")
