"""What is checked before anything is measured, and what is traced."""

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
from tracekit.nightly.session.tracing import arguments_of, options, trace

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


PYTHON = sys.executable

# An interpreter whose `tracekit capture` writes a result of its own making, or ends at once.
PRETENDED_CAPTURE = """#!{python}
import json, os, sys
if "capture" not in sys.argv:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
code = {code}
if code in (0, 4):
    folder = sys.argv[sys.argv.index("--output") + 1]
    os.makedirs(folder)
    metric = dict(name="step_p50", value={value}, unit="ns", better="lower")
    with open(os.path.join(folder, "result.json"), "w") as file:
        json.dump(dict(provenance={{}}, metrics=[metric]), file)
sys.stderr.write("these are last words")
sys.exit(code)
"""


@pytest.fixture
def pretended(tmp_path: Path) -> Callable[..., Path]:
    """Make an interpreter that takes turns as this one does, and pretends to capture."""

    def make(code: int = 0, value: float | None = 200) -> Path:
        place = tmp_path / "pretended"
        place.write_text(PRETENDED_CAPTURE.format(python=PYTHON, code=code, value=value))
        place.chmod(0o755)
        return place

    return make


def test_sides_take_turns_to_be_first_and_a_trace_without_its_target_does_not_count(
    ready: Ready, pretended: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(pretended()))
    with ready(traced=2) as prepared:
        pairs = list(trace(prepared, session=2))
        assert [(one.traced, one.order, one.number) for one in pairs] == [
            *((True, "ab", 1), (True, "ba", 2))
        ]
        assert pairs[0].candidate == pairs[0].reference == {"step_p50": (200.0,)}
        assert pairs[1].runs == ("short/candidate-2-2", "short/reference-2-2")
        assert pairs[1].contaminated == ()
        pretended(code=4, value=None)
        pair, _ = trace(replace(prepared, reference=None), session=3)
        assert (pair.order, pair.candidate, pair.reference) == ("a", {}, {})
        assert pair.runs == ("short/candidate-3-1",)
        assert pair.contaminated == ("The trace of the candidate is not known to hold its work.",)


def test_a_capture_that_fails_or_cannot_be_read_is_a_failure_and_no_number(
    ready: Ready, pretended: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = pretended(code=3)
    monkeypatch.setattr(sys, "executable", str(python))
    with ready(reference=None) as prepared:
        with pytest.raises(ToolError) as caught:
            list(trace(prepared))
        assert caught.value.message == (
            "The traced capture of the candidate of short ended with exit code 3. "
            "Its last words: these are last words"
        )
        assert "tracekit capture --workload naps" in caught.value.hint
        pretended()
        python.write_text(python.read_text().replace("json.dump(", "file.write('{') or ("))
        reason = r"left no result that can be read: .*result\.json"
        with pytest.raises(ToolError, match=reason):
            list(trace(prepared))


def test_the_command_line_says_all_that_the_plan_says(ready: Ready, workloads: Path) -> None:
    values: dict[str, Any] = {
        "parameters": {"trick": "print"},
        "templates": ("Metal System Trace", "mine.tracetemplate"),
        "counters": "off",
        "time_limit": 2.5,
        "recorder": "host",
        "telemetry": "off",
    }
    with ready(reference=None, **values) as prepared:
        line = arguments_of(prepared, prepared.candidate, Path("/runs/one"))
    assert line[:5] == (sys.executable, "-P", "-m", "tracekit", "capture")
    assert " ".join(line[5:]) == (
        f"--workload naps --workloads {workloads} --recorder host --template Metal System Trace "
        "--template mine.tracetemplate --counters off --telemetry off --time-limit 2.500s "
        "--warmup 1 --output /runs/one --trick=print"
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"block_size": 16}, ("--block-size=16",)),
        ({"ragged": True, "causal": False}, ("--ragged", "--no-causal")),
        ({"kernel": None}, ()),
        ({"lengths": [1, 2]}, ("--lengths=1", "--lengths=2")),
        ({"offset": -3}, ("--offset=-3",)),
    ],
)
def test_parameters_become_options(parameters: dict[str, Any], words: tuple[str, ...]) -> None:
    assert options(parameters) == words
