"""Another order, time zone, language and hash seed in each run, all by one seed.

A plugin of pytest, loaded by tests/conftest.py. The seed is that of pytest-randomly, which shuffles
the tests; `pytest --randomly-seed=N` has the same surroundings again, `-p no:randomly` those of the
terminal.
"""

import os
import random
import time

import pytest

ZONES = ("UTC0", "IST-5:30", "NST3:30NDT,M3.2.0,M11.1.0", "LINT-14")
LANGUAGES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8")


def surroundings(seed: int) -> dict[str, str]:
    """Return the environment of a seed: of workers, and of all that tests start."""
    draw = random.Random(seed)
    language = draw.choice(LANGUAGES)
    hashes = str(draw.randrange(2**32))
    return {"TZ": draw.choice(ZONES), "LANG": language, "PYTHONHASHSEED": hashes}


def _seed(config: pytest.Config) -> int | None:
    return config.getoption("randomly_seed", None)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Change this process and what it starts, after pytest-randomly has drawn its seed."""
    seed = _seed(config)
    if seed is not None and not hasattr(config, "workerinput"):
        os.environ.update(surroundings(seed))
        time.tzset()


def pytest_report_header(config: pytest.Config) -> str:
    seed = _seed(config)
    return "" if seed is None else " ".join("=".join(one) for one in surroundings(seed).items())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        seed = _seed(terminalreporter.config)
        terminalreporter.line(f"The same order and surroundings: --randomly-seed={seed}")
