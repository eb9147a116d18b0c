"""Plans as people spoil them: whatever a line becomes, it is read, or told with its line."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan

LINES = """\
[nightly]
name = "paged"
budget = "2h"
retries = 5
history = "sqlite:///nights.db"
[nightly.machine-state]
calibration = 0.15
memory-free = "1GiB"
thermal-pressure = "Nominal"
[nightly.defaults]
pairs = 10
turn = "300ms"
metrics.step_p99 = { threshold = 0.1, gate = false }
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 16, dtype = "float32" }
template = ["Metal System Trace"]
time-limit = "5s"
checks = [["python", "-m", "pytest"]]
fail-on = ["pipeline-churn"]
together = true
[nightly.capture.reference]
revision = "v1.2"
setup = ["uv", "sync"]
[nightly.capture.metrics]
tokens_per_second = 0.03
steady_compiles = { threshold = 1, scale = "difference" }
""".splitlines()
NUMBERS = ["1", "-1", "0", "0.5", "nan", "-inf", "9" * 40, "true", "false"]
TEXTS = ['""', '"x"', "'5s'", "1979-05-27", "07:32:00"]
NESTED = ["[]", "[[]]", "[1]", '["x"]', "{}", "{ a = 1 }", "{ threshold = [] }"]
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *NESTED])
KEYED = [place for place, line in enumerate(LINES) if " = " in line]


def attempt(folder: Path, text: str) -> NightPlan | UsageError:
    """Read a text as a plan; a mistake must name a line that the text has."""
    file = folder / "tracekit.toml"
    file.write_text(text, encoding="utf-8")
    try:
        return read_plan(file)
    except UsageError as refusal:
        error = refusal
    found = re.findall(r"tracekit\.toml:(\d+): |at line (\d+)", error.message)
    lines = [int(one or other) for one, other in found]
    assert lines or "end of document" in error.message
    assert all(1 <= one <= text.count("\n") + 1 for one in lines)
    assert lines == sorted(lines)
    return error


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


def test_the_plan_is_fit_as_long_as_nobody_spoils_it(folder: Path) -> None:
    assert isinstance(attempt(folder, "\n".join(LINES)), NightPlan)


@given(st.sampled_from(KEYED), VALUES)
def test_a_value_of_any_kind_is_read_or_told_at_its_line(
    folder: Path, place: int, value: str
) -> None:
    lines = list(LINES)
    lines[place] = f"{lines[place].partition(' = ')[0]} = {value}"
    found = attempt(folder, "\n".join(lines))
    if isinstance(found, UsageError) and "mistakes" not in found.message:
        told = int(found.message.partition(".toml:")[2].partition(":")[0])
        # A capture is named as a whole where the spoilt line is what it lacks now.
        assert told in {place + 1, 14, 21, 27, 28}


@given(st.sampled_from(KEYED), st.text(st.characters(codec="utf-8"), max_size=8))
def test_a_key_of_any_letters_is_told_and_never_passed_over(
    folder: Path, place: int, name: str
) -> None:
    key, _, value = LINES[place].partition(" = ")
    escaped = "".join(f"\\U{ord(one):08x}" for one in name)
    lines = list(LINES)
    lines[place] = f'"{escaped}" = {value}'
    found = attempt(folder, "\n".join(lines))
    if isinstance(found, NightPlan):
        in_metrics = key in {"tokens_per_second", "steady_compiles"}
        assert name == key or in_metrics


@given(st.integers(0, len("\n".join(LINES)) - 1), st.sampled_from("\"'[]{}=#.,\n \\x0é"))
def test_a_letter_that_slipped_in_leaves_a_plan_or_a_sentence(
    folder: Path, place: int, letter: str
) -> None:
    text = "\n".join(LINES)
    found = attempt(folder, text[:place] + letter + text[place:])
    assert isinstance(found, NightPlan | UsageError)
