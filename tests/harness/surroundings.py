"""The environment of all tests: no settings of the user, and the rest by one seed.

A plugin of pytest, loaded by tests/conftest.py. It clears what a user or a CI service has set for
git, Python, terminals, PostgreSQL or tracekit itself, so that tests mean the same everywhere. The
order of tests, their examples, time zone, language and hash seed are those of the seed of
pytest-randomly, which shuffles the tests. pyproject.toml fixes it; `pytest --randomly-seed=N` has
others, `--randomly-seed=default` draws them, and `-p no:randomly` has those of the terminal.
"""

import os
import random
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import core

ZONES = ("UTC0", "IST-5:30", "NST3:30NDT,M3.2.0,M11.1.0", "LINT-14")
LANGUAGES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8")

SETTINGS = re.compile(
    r"GIT_.*|SSH_ASKPASS|EDITOR|VISUAL|PAGER"
    r"|LC_.*|LANGUAGE"  # they win over LANG
    r"|TERM|COLORTERM|COLUMNS|LINES|TERMINAL_WIDTH|(NO|FORCE)_COLOR|PY_COLORS|CLICOLOR(_FORCE)?"
    r"|TTY_(COMPATIBLE|INTERACTIVE)|_?TYPER_.*|JUPYTER_.*"
    r"|PYTHON(?!(PATH|HOME|PYCACHEPREFIX|HASHSEED)$).*|PYTEST_ADDOPTS"
    r"|XDG_.*|PG[A-Z]+|DASK_.*|(?i:(http|https|ftp|all)_proxy)"
    r"|GITHUB_.*|CI|TRACEKIT_(?!(CORPUS|SCHEMAS)$).*|FAKE_XCTRACE_.*"
)
"""Variables by which a user, a machine or a service changes what programs do."""
_GIT = Path(__file__).parent / "gitconfig"
_MASK = 0o022


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the settings of this machine have no part."""
    kept_variables = {
        name: value for name, value in environment.items() if not SETTINGS.fullmatch(name)
    }
    git = {"GIT_CONFIG_GLOBAL": str(_GIT), "GIT_CONFIG_NOSYSTEM": "1"}
    return kept_variables | git | {"FAKE_XCTRACE_PYTHON": sys.executable}


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

    Hypothesis would draw its examples by a seed of its own. A worker of xdist has its environment
    of the process that started it.
    """
    os.umask(_MASK)
    seed = _seed(config)
    if seed is not None and config.getoption("hypothesis_seed", None) is None:
        core.global_force_seed = seed
    if hasattr(config, "workerinput"):
        return
    cleared = without_settings(os.environ)
    for name in os.environ.keys() - cleared.keys():
        del os.environ[name]
    os.environ.update(cleared)
    if seed is not None:
        os.environ.update(surroundings(seed))
        time.tzset()


def pytest_report_header(config: pytest.Config) -> str:
    seed = _seed(config)
    return (
        ""
        if seed is None
        else " ".join("=".join(setting) for setting in surroundings(seed).items())
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        seed = _seed(terminalreporter.config)
        terminalreporter.line(f"The same order and surroundings: --randomly-seed={seed}")
