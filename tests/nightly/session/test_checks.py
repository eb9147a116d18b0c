import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.measuring import check, grid_of
from tracekit.nightly.session.prepared import Prepared
from tracekit.nightly.session.program import BudgetSpentError, ParityError

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]


def ending(prepared: Prepared, deadline: float) -> Prepared:
    """Return a capture of a night whose time is spent then."""
    return replace(prepared, bounds=replace(prepared.bounds, deadline=deadline))


HOLDS = {"kind": "parity", "version": 1, "breaches": 0, "repeat": None, "outcomes": [{}, {}]}

# An interpreter whose `tracekit parity` answers as it is told.
PRETENDED = """#!{python}
import json, os, sys
if "parity" not in sys.argv:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
sys.stdout.write(json.dumps({document!r}))
sys.stderr.write("some words")
sys.exit({code})
"""


@pytest.fixture
def parity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Let `python -m tracekit parity` answer with a document and an exit code."""
    python = sys.executable

    def answer(document: Any, code: int = 0) -> Path:
        place = tmp_path / "pretended"
        place.write_text(PRETENDED.format(python=python, document=document, code=code))
        place.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(place))
        return place

    return answer


def test_which_grid_is_checked(ready: Callable[..., Any]) -> None:
    with ready(reference=None) as prepared:
        for asked, workload, grid in (
            ("auto", "naps", ""),
            ("auto", "paged", "quick"),
            ("auto", "kv-cache", "quick"),
            ("off", "paged", ""),
            ("quick", "naps", "quick"),
            ("full", "naps", "full"),
        ):
            capture = replace(prepared.capture, parity=asked)
            side = replace(prepared.candidate, workload=workload)
            assert grid_of(replace(prepared, capture=capture, candidate=side)) == grid


def test_a_reference_of_attention_is_reason_enough(ready: Callable[..., Any]) -> None:
    with ready(reference=Reference(workload="sdpa")) as prepared:
        assert grid_of(prepared) == "quick"


def test_nothing_to_check_is_nothing_to_say(ready: Callable[..., Any]) -> None:
    with ready(reference=None) as prepared:
        assert check(prepared) == ""


def test_parity_of_the_candidate_s_interpreter_is_run_once_a_night(
    ready: Callable[..., Any], parity: Callable[..., Path], night: Path
) -> None:
    program = parity(HOLDS)
    with ready(reference=None, parity="quick") as prepared:
        assert check(prepared) == "Parity holds in all 2 results of the quick grid."
        assert json.loads((night / "parity-quick.json").read_text()) == HOLDS
        program.write_text("#!/bin/sh\nexit 5\n")
        assert check(prepared) == "Parity holds in all 2 results of the quick grid."


def test_parity_that_fails_is_told_with_the_line_that_repeats_it(
    ready: Callable[..., Any], parity: Callable[..., Path]
) -> None:
    parity(HOLDS | {"breaches": 1, "repeat": "tracekit parity --case x"}, code=1)
    with ready(reference=None, parity="quick") as prepared:
        for _ in range(2):  # what failed is no reason to pass the next time
            with pytest.raises(ParityError) as caught:
                check(prepared)
            assert caught.value.message.startswith("Parity failed: 1 of 2 results exceed")
            assert caught.value.hint == "Repeat it: tracekit parity --case x."


@pytest.mark.parametrize(
    ("document", "code", "how"),
    [
        (HOLDS, 3, "exit code 3"),
        (HOLDS, 1, "exit code 1"),
        ({"kind": "parity"}, 0, "exit code 0"),
        (HOLDS | {"version": 2}, 0, "exit code 0"),
    ],
)
def test_parity_that_cannot_be_run_is_no_parity(
    ready: Callable[..., Any], parity: Callable[..., Path], document: Any, code: int, how: str
) -> None:
    parity(document, code)
    told = f"could not be run: it ended with {how}. Its last words: some words"
    with ready(reference=None, parity="quick") as prepared, pytest.raises(ParityError, match=told):
        check(prepared)


def test_checks_of_the_plan_run_in_the_plan_s_folder(
    ready: Callable[..., Any], tmp_path: Path
) -> None:
    checks = (("sh", "-c", "pwd; echo beside >&2"), ("true",))
    with ready(reference=None, checks=checks) as prepared:
        assert check(prepared) == "Sh succeeded; true succeeded."
        assert prepared.log_of("check-1").read_text() == f"{tmp_path / 'plan'}\nbeside\n"


def test_a_check_that_fails_is_quoted(ready: Callable[..., Any]) -> None:
    checks = (("true",), (sys.executable, "-c", "raise SystemExit('2 tests failed')"))
    with ready(reference=None, checks=checks) as prepared, pytest.raises(ParityError) as caught:
        check(prepared)
    assert "ended with exit code 1. Its last words: 2 tests failed" in caught.value.message
    assert "check-2.log" in caught.value.hint


def test_a_check_that_is_not_there_is_told(ready: Callable[..., Any]) -> None:
    checks = (("no-such-program",),)
    with ready(reference=None, checks=checks) as prepared, pytest.raises(ToolError) as caught:
        check(prepared)
    assert caught.value.message == ("no-such-program cannot be started: No such file or directory.")


def test_a_check_ends_with_the_night(ready: Callable[..., Any]) -> None:
    checks = (("sh", "-c", "sleep 60 & wait"),)
    with ready(reference=None, checks=checks) as prepared, pytest.raises(BudgetSpentError):
        check(ending(prepared, time.monotonic() + 0.3))
