"""Every benchmark runs at a tiny size: it measures, prints, and never judges how fast."""

from collections.abc import Callable

import pytest

import intervals
import machine_state
import page
import trend

SCRIPTS = {
    "intervals": (intervals.main, "--count=500 --rounds=2", "union"),
    "machine_state": (machine_state.main, "--looks=1 --seconds=0.05", "of CPU time"),
    "page": (page.main, "--count=2000 --rounds=1 --no-browser --clock=cpu", "analyze, cpu time"),
    "trend": (trend.main, "--nights=6 --series=2 --rounds=1 --no-browser", "page, gzipped"),
}


@pytest.mark.parametrize(("main", "options", "printed"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_bench_prints_its_measurements(
    main: Callable[[list[str]], object],
    options: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(options.split())
    assert printed in capsys.readouterr().out


def test_a_way_that_answers_otherwise_is_named() -> None:
    with pytest.raises(ValueError, match="other does not answer as one does"):
        intervals.check({"one": lambda: [1, 2], "other": lambda: [1, 3]})
