"""What is checked before anything is measured: parity once a night, and commands of the plan."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.nightly.session.measuring import check, grid_of
from tracekit.nightly.session.program import BudgetSpentError, ParityError

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]

Ready = Callable[..., Any]
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
    python, place = sys.executable, tmp_path / "pretended"

    def answer(document: Any, code: int = 0) -> Path:
        place.write_text(PRETENDED.format(python=python, document=document, code=code))
        place.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(place))
        return place

    return answer


def test_attention_on_either_side_is_checked_by_the_quick_grid(ready: Ready) -> None:
    with ready() as prepared:
        for asked, candidate, reference, grid in (
            ("auto", "naps", "naps", ""),
            ("auto", "paged", "naps", "quick"),
            ("auto", "naps", "kv-cache", "quick"),
            ("off", "paged", "sdpa", ""),
            ("quick", "naps", "naps", "quick"),
            ("full", "naps", "naps", "full"),
        ):
            one = replace(
                prepared,
                capture=replace(prepared.capture, parity=asked),
                candidate=replace(prepared.candidate, workload=candidate),
                reference=replace(prepared.reference, workload=reference),
            )
            assert grid_of(one) == grid
        assert check(prepared) == "", "nothing to check is nothing to say"


def test_parity_of_the_candidate_s_interpreter_is_run_once_a_night(
    ready: Ready, parity: Callable[..., Path], night: Path
) -> None:
    program = parity(HOLDS)
    with ready(reference=None, parity="quick") as prepared:
        assert check(prepared) == "Parity holds in the quick grid."
        assert json.loads((night / "parity-quick.json").read_text()) == HOLDS
        program.write_text("#!/bin/sh\nexit 5\n")
        assert check(prepared) == "Parity holds in the quick grid."


def test_parity_that_fails_is_run_again_and_never_passes(
    ready: Ready, parity: Callable[..., Path], night: Path
) -> None:
    parity(HOLDS)
    with ready(reference=None, parity="quick") as prepared:
        for code in (3, 1):
            parity(HOLDS, code)
            reason = rf"parity --quick --json ended with exit code {code}\. Its last words: some"
            with pytest.raises(ParityError, match=reason) as caught:
                check(prepared)
            assert str(night / "parity-quick.failed.json") in caught.value.hint


def test_checks_of_the_plan_run_in_its_folder_and_the_first_that_fails_is_quoted(
    ready: Ready, tmp_path: Path
) -> None:
    with ready(reference=None) as prepared:

        def checked(*checks: tuple[str, ...], seconds: float = 60) -> str:
            bounds = replace(prepared.bounds, deadline=time.monotonic() + seconds)
            capture = replace(prepared.capture, checks=checks)
            return check(replace(prepared, capture=capture, bounds=bounds))

        said = checked(("sh", "-c", "pwd; echo beside >&2"), ("true",))
        assert said == "Sh succeeded; true succeeded."
        assert prepared.log_of("check-1").read_text() == f"{tmp_path / 'plan'}\nbeside\n"
        with pytest.raises(ParityError) as failed:
            checked(("true",), ("sh", "-c", "echo 2 tests failed; exit 1"))
        assert "ended with exit code 1. Its last words: 2 tests failed" in failed.value.message
        assert "check-2.log" in failed.value.hint
        with pytest.raises(ToolError) as absent:
            checked(("no-such-program",))
        assert absent.value.message == (
            "no-such-program cannot be started: No such file or directory."
        )
        with pytest.raises(BudgetSpentError):
            checked(("sh", "-c", "sleep 60 & wait"), seconds=0.5)
