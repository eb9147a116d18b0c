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
from tracekit.nightly.session.measuring import arguments_of, check, grid_of, options, trace
from tracekit.nightly.session.program import BudgetSpentError, ParityError

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]

Ready = Callable[..., Any]
PYTHON = sys.executable
HOLDS = {"kind": "parity", "version": 1, "breaches": 0, "repeat": None, "outcomes": [{}, {}]}
# An interpreter whose `tracekit` answers parity with a document, and captures what it makes up.
PRETENDED = """#!{python}
import json, os, sys
if "tracekit" not in sys.argv:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
if "capture" in sys.argv and {code} in (0, 4):
    folder = sys.argv[sys.argv.index("--output") + 1]
    os.makedirs(folder)
    with open(os.path.join(folder, "result.json"), "w") as file:
        file.write({result!r})
if "parity" in sys.argv:
    sys.stdout.write(json.dumps({holds!r}))
sys.stderr.write("some words")
sys.exit({code})
"""


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the interpreter answer, with a value of a result and an exit code."""
    place = tmp_path / "pretended"
    monkeypatch.setattr(sys, "executable", str(place))

    def answer(code: int = 0, value: float | None = 200, result: str = "") -> None:
        metric = {"name": "step_p50", "value": value, "unit": "ns", "better": "lower"}
        text = result or json.dumps({"provenance": {}, "metrics": [metric]})
        place.write_text(PRETENDED.format(python=PYTHON, code=code, result=text, holds=HOLDS))
        place.chmod(0o755)

    answer()
    return answer


def test_attention_on_either_side_is_checked_by_the_quick_grid(ready: Ready) -> None:
    with ready() as prepared:
        for asked, candidate, reference, grid in (
            ("auto", "naps", "naps", ""),
            ("auto", "paged", "naps", "quick"),
            ("auto", "naps", "kv-cache", "quick"),
            ("off", "paged", "sdpa", ""),
            ("full", "naps", "naps", "full"),
        ):
            other = replace(
                prepared,
                capture=replace(prepared.capture, parity=asked),
                candidate=replace(prepared.candidate, workload=candidate),
                reference=replace(prepared.reference, workload=reference),
            )
            assert grid_of(other) == grid
        assert check(prepared) == "", "nothing to check is nothing to say"


def test_parity_runs_again_until_it_holds_and_then_once_a_night(
    ready: Ready, pretend: Callable[..., None], night: Path
) -> None:
    with ready(reference=None, parity="quick") as prepared:
        for code in (3, 1):
            pretend(code)
            reason = rf"parity --quick --json ended with exit code {code}\. Its last words: some"
            with pytest.raises(ParityError, match=reason) as caught:
                check(prepared)
            assert str(prepared.log_of("parity")) in caught.value.hint
        for code in (0, 5):
            pretend(code)
            assert check(prepared) == "Parity holds in the quick grid."
            assert json.loads((night / "parity-quick.json").read_text()) == HOLDS


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
        with pytest.raises(ParityError, match=r"exit code 1\. Its last words: 2 fail") as failed:
            checked(("true",), ("sh", "-c", "echo 2 failed; exit 1"))
        assert "check-2.log" in failed.value.hint
        with pytest.raises(ToolError, match=r"^no-such-program cannot be started: No such file"):
            checked(("no-such-program",))
        with pytest.raises(BudgetSpentError):
            checked(("sh", "-c", "sleep 60 & wait"), seconds=0.5)


def test_sides_take_turns_to_be_first_and_a_trace_without_its_target_does_not_count(
    ready: Ready, pretend: Callable[..., None]
) -> None:
    with ready(traced=2) as prepared:
        pairs = list(trace(prepared, session=2))
        found = [(pair.traced, pair.order, pair.number, pair.contaminated) for pair in pairs]
        assert found == [(True, "ab", 1, ()), (True, "ba", 2, ())]
        assert pairs[0].candidate == pairs[0].reference == {"step_p50": (200.0,)}
        assert pairs[1].runs == ("short/candidate-2-2", "short/reference-2-2")
        pretend(4, None)
        pair, _ = trace(replace(prepared, reference=None), session=3)
        assert (pair.order, pair.candidate, pair.reference) == ("a", {}, {})
        assert pair.runs == ("short/candidate-3-1",)
        assert pair.contaminated == ("The trace of the candidate is not known to hold its work.",)


def test_a_capture_that_fails_or_cannot_be_read_is_a_failure_and_no_number(
    ready: Ready, pretend: Callable[..., None]
) -> None:
    with ready(reference=None) as prepared:
        pretend(3)
        reason = r"of the candidate of short ended with exit code 3\. Its last words: some words"
        with pytest.raises(ToolError, match=reason) as caught:
            list(trace(prepared))
        assert "tracekit capture --workload naps" in caught.value.hint
        pretend(result="{")
        with pytest.raises(ToolError, match=r"left no result that can be read: .*result\.json"):
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
    parameters = {"size": -3, "ragged": True, "causal": False, "kernel": None, "lengths": [1, 2]}
    words = ("--size=-3", "--ragged", "--no-causal", "--lengths=1", "--lengths=2")
    assert options(parameters) == words
