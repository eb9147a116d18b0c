"""A plugin of pytest: recordings as fixtures, and a mark for the limits that they must keep.

    @pytest.mark.tracekit(max_idle=0.1, no=["pipeline-churn"])
    def test_decoding_keeps_the_device_busy(capture):
        capture("paged", batch=16, time_limit=2.0)

pytest loads this module in every session, so it imports nothing of tracekit until a test uses it.
"""
# ruff: noqa: PLC0415 - a session without recordings must not pay for pandas

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracekit.analysis import Result
    from tracekit.run import Run
    from tracekit.tables import Tables

_MARK = "tracekit"
_HELP = (
    "tracekit(max_idle=SHARE, no=[RULE, …]): limits of the recordings that the test makes or opens "
    "with the fixtures `capture` and `tables`: the share of time in which the device may be idle, "
    "and rules that must find nothing."
)
_RUNS = pytest.StashKey["list[Run]"]()


@dataclass(frozen=True)
class _MarkedLimits:
    max_idle: float | None = None
    no: Sequence[str] = ()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> "Callable[..., Run]":
    """Record a workload as `tracekit.capture` does, into the folder of the test; return the run.

    Without a Mac the host recorder measures the workload on the CPU.
    """

    def record(name: str, **options: Any) -> "Run":
        from tracekit.app import functions

        runs = _runs_of(request.node)
        options.setdefault("output", tmp_path / f"run-{len(runs) + 1}")
        run = functions.capture(name, **options)
        runs.append(run)
        return run

    return record


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> "Callable[..., Tables]":
    """Open any recording as `tracekit.open` does, and return its tables."""

    def read(*inputs: str | Path, **options: Any) -> "Tables":
        from tracekit.app import functions

        run = functions.open(*inputs, **options)
        _runs_of(request.node).append(run)
        return run.tables

    return read


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Judge the recordings of a test with the mark, once the test has passed.

    A limit that is exceeded fails the test. A limit that could not be judged skips it, with the
    reason, unless another one is exceeded.
    """
    mark = item.get_closest_marker(_MARK)
    if mark is None:
        return (yield)
    limits = _read_limits(mark)
    yield
    runs = _runs_of(item)
    if not runs:
        pytest.fail("The mark tracekit needs a recording: use `capture`.", pytrace=False)
    failures: list[str] = []
    unknown: list[str] = []
    for run in runs:
        _judge(run.result, limits, failures, unknown)
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
    if unknown:
        pytest.skip(" ".join(unknown))


def _runs_of(item: pytest.Item) -> "list[Run]":
    return item.stash.setdefault(_RUNS, [])


def _read_limits(mark: pytest.Mark) -> _MarkedLimits:
    """Return the limits of a mark; fail the test if it has a name that does not exist."""
    from tracekit.analysis import RULES
    from tracekit.base import UsageError, require

    if mark.args:
        pytest.fail("The mark tracekit takes names: max_idle=0.1, no=[RULE].", pytrace=False)
    try:
        for name in mark.kwargs:
            require(name, _MarkedLimits.__dataclass_fields__, "limit of the mark tracekit")
        limits = _MarkedLimits(**mark.kwargs)
        for name in limits.no:
            require(name, RULES, "rule")
    except UsageError as error:
        pytest.fail(f"{error.message} {error.hint}", pytrace=False)
    return limits


def _judge(
    result: "Result", limits: _MarkedLimits, failures: list[str], unknown: list[str]
) -> None:
    """Add a sentence for each limit that a result exceeds, and for each that it cannot show."""
    from tracekit.analysis import Status
    from tracekit.base import units

    if limits.max_idle is not None:
        idle = result.metric("idle_ratio")
        most = units.percent(limits.max_idle)
        if idle.value is None:
            unknown.append(f"Whether the device was idle is not known: {idle.reason.rstrip('.')}.")
        elif idle.value > limits.max_idle:
            failures.append(f"The device was idle for {units.percent(idle.value)}, at most {most}.")
    for finding in result.findings:
        if finding.rule in limits.no:
            failures.append(f"{finding.rule}: {finding.message}")  # noqa: PERF401  one idea a line
    unclear = {Status.ABSTAINED, Status.FAILED, Status.NOT_APPLICABLE}
    for check in result.checks:
        if check.rule in limits.no and check.status in unclear:
            reason = check.reason.rstrip(".")
            unknown.append(f"{check.rule} did not judge: {reason}.")
