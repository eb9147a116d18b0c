"""Costs: the processor time of tests. A plugin of pytest, loaded by tests/conftest.py.

`pytest --costs 10` shows the ten files and the ten tests that took the most. On a machine that
others use as well, processor time says more than the time on the clock, which `--durations` shows.
A fixture that several tests share counts for the first of them. Processes count once a test has
waited for them.
"""

import os
from collections import Counter
from collections.abc import Generator

import pytest

_SECONDS = "processor_seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--costs", type=int, default=0, metavar="N",
        help="show the N files and tests that took the most processor time",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if config.option.costs:
        config.pluginmanager.register(_Costs(config.option.costs))


def _measure_processor_time() -> float:
    """Return the processor time of this process and of the children that ended, in s."""
    return sum(os.times()[:4])


class _Costs:
    """What tests cost: measured where they run, added up where results are shown."""

    def __init__(self, shown_count: int) -> None:
        self._shown_count = shown_count
        self._start = 0.0
        self._of_tests = Counter[str]()
        self._of_files = Counter[str]()

    def pytest_runtest_logstart(self) -> None:
        self._start = _measure_processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_SECONDS, _measure_processor_time() - self._start))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            seconds = dict(report.user_properties)[_SECONDS]
            self._of_tests[report.nodeid] += seconds
            self._of_files[report.nodeid.partition("::")[0]] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor time")
        total, number = sum(self._of_tests.values()), len(self._of_tests)
        terminalreporter.line(f"{total:8.1f} s, {number:,} tests")
        for costs in (self._of_files, self._of_tests):
            terminalreporter.line("")
            for name, seconds in costs.most_common(self._shown_count):
                terminalreporter.line(f"{seconds:8.1f} s  {name}")
