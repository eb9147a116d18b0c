"""The order of tests, their examples, time zone, language and hash seed, all by one seed.

A plugin of pytest, loaded by tests/conftest.py. The seed is that of pytest-randomly, which shuffles
the tests. pyproject.toml fixes it; `pytest --randomly-seed=N` has others, `--randomly-seed=default`
draws them, and `-p no:randomly` has those of the terminal.
"""

import os
import random
import time

import pytest
from hypothesis import core

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


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Take the seed of pyproject.toml where nobody heeds it, as with `-p no:randomly`."""
    if not pluginmanager.hasplugin("randomly"):
        parser.addoption("--randomly-seed", dest="unheeded_seed", help="needs pytest-randomly")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Change this process and what it starts, after pytest-randomly has drawn its seed.

    Hypothesis would draw its examples by a seed of its own. What a terminal has set of LC_ALL and
    its like would hide the language.
    """
    seed = _seed(config)
    if seed is None:
        return
    if config.getoption("hypothesis_seed", None) is None:
        core.global_force_seed = seed
    if not hasattr(config, "workerinput"):
        for name in [name for name in os.environ if name.startswith("LC_") or name == "LANGUAGE"]:
            del os.environ[name]
        os.environ.update(surroundings(seed))
        time.tzset()


def pytest_report_header(config: pytest.Config) -> str:
    seed = _seed(config)
    return "" if seed is None else " ".join("=".join(one) for one in surroundings(seed).items())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        seed = _seed(terminalreporter.config)
        terminalreporter.line(f"The same order and surroundings: --randomly-seed={seed}")
