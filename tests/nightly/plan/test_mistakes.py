"""What is wrong with a plan: told with file, line, column and key, all of it at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.reading import read_plan

Refused = Callable[..., UsageError]
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'

# Text, the line, what is named there, what the hint says. Lines 1 to 3 are HEAD's.
ONE_MISTAKE = {
    "unknown key": (HEAD + "pears = 3", 4, "nightly.capture.pears", "Did you mean pairs?"),
    "snake case": (HEAD + "time_limit = '5s'", 4, "nightly.capture.time_limit", "time-limit?"),
    "two commits": (
        REFERENCE + 'reference.merge-base = "main"',
        5,
        "nightly.capture.reference.merge-base names a commit, and revision names one",
        "Leave one of them out.",
    ),
    "an anchor of no commit": (
        HEAD + "reference.python = 'p'\nreference.anchor-every = 3",
        5,
        "nightly.capture.reference.anchor-every",
        "",
    ),
    "no night before": (HEAD + "reference.previous-night = false", 4, "does not say how it", ""),
    "the name of an anchor": (HEAD + "name = 'decode-anchor'", 4, "must not end in -anchor", ""),
    "unknown key of the night": (
        "[nightly]\nbudgt = 1\n" + HEAD[10:],
        2,
        "nightly.budgt",
        "budget",
    ),
    "unknown table": (HEAD + "[night]\n", 4, "night is no table of a plan", "nightly"),
    "text for a number": (HEAD + "pairs = 'ten'", 4, "nightly.capture.pairs", ""),
    "out of bounds": (HEAD + "pairs = 0", 4, "nightly.capture.pairs", ""),
    "no length of time": (HEAD + "turn = '5 days'", 4, "'5 days'", ""),
    "no choice": (HEAD + "recorder = 'hots'", 4, "nightly.capture.recorder", ""),
    "parent's name": (HEAD + "name = '..'", 4, "a name that can be a folder's"[2:], ""),
    "no template": (HEAD + "template = []", 4, "nightly.capture.template", ""),
    "flat check": (HEAD + "checks = ['python', '-m', 'x']", 4, "an array of commands", "[["),
    "a word that is none": (HEAD + "checks = [['a', 1]]", 4, "nightly.capture.checks", ""),
    "parameters that are none": (HEAD + "parameters = 3", 4, "nightly.capture.parameters", ""),
    "no workload": (HEAD[:30], 2, "nightly.capture has no workload", "tracekit workloads"),
    "unknown workload": (HEAD[:30] + "workload = 'pagd'", 3, "'pagd'", "Did you mean paged?"),
    "any program": (HEAD[:30] + "workload = 'command'", 3, "cannot be measured in turns", ""),
    "unknown parameter": (HEAD + "parameters.bach = 1", 4, "nightly.capture.parameters", "batch"),
    "unfit parameter": (HEAD + "parameters = { batch = 0 }", 4, "nightly.capture.parameters", ""),
    "unknown rule": (HEAD + "fail-on = ['bubbles', 'bubles']", 4, "'bubles'", "bubbles?"),
    "rules without traces": (
        HEAD + "traced = 0\nfail-on = 'bubbles'",
        5,
        "nightly.capture.fail-on needs",
        "",
    ),
    "empty reference": (HEAD + "reference = {}", 4, "nightly.capture.reference does not say", ""),
    "no reference": (HEAD + "reference = 'main'", 4, "reference must be a table, not 'main'", ""),
    "setup of nothing": (HEAD + "reference = { python = 'p', setup = 'x' }", 4, "setup is for", ""),
    "an option for a revision": (HEAD + "reference.revision = '--all'", 4, "not an option", ""),
    "reference's workload": (
        HEAD + "reference.workload = 'sdp'",
        4,
        "nightly.capture.reference.workload",
        "sdpa",
    ),
    "reference's parameter": (
        HEAD + "reference.parameters.batches = 1",
        4,
        "has no parameter 'batches'",
        "batch",
    ),
    "unknown metric": (REFERENCE + "metrics.step_p5 = 0.1", 5, "metrics.step_p5", "step_p50?"),
    "threshold of 0": (REFERENCE + "metrics.step_p50 = 0", 5, "metrics.step_p50", ""),
    "threshold in percent": (REFERENCE + "metrics.step_p50 = 10", 5, "below 10 for a ratio", "3 %"),
    "key of a metric": (REFERENCE + "metrics.step_p50.gates = true", 5, "step_p50.gates", "gate?"),
    "no scale": (REFERENCE + "metrics.step_p50.scale = 'log'", 5, "step_p50.scale", ""),
    "no direction": (
        REFERENCE + "traced = 6\nmetrics.gpu_busy = 0.1",
        6,
        "neither direction",
        "better",
    ),
    "no traces": (
        REFERENCE + "traced = 0\nmetrics.memory_peak = 0.1",
        6,
        "traced is 0",
        "traced be 1",
    ),
    "too few traces": (
        REFERENCE + "traced = 5\nmetrics.memory_peak = 0.1",
        6,
        "by fewer than 6 traces",
        "gate be false",
    ),
    "too few pairs": (
        REFERENCE + "pairs = 5",
        5,
        "nightly.capture.pairs must be at least 6",
        "gate",
    ),
    "gate without a reference": (
        HEAD + "metrics.step_p50.gate = true",
        4,
        "nightly.capture.metrics.step_p50 cannot decide without a reference",
        "Add [nightly.capture.reference]",
    ),
    "name for all": (
        "[nightly]\ndefaults.name = 'a'\n" + HEAD[10:],
        2,
        "nightly.defaults.name",
        "",
    ),
    "unknown limit": ("[nightly]\nmachine-state.lod = 1\n" + HEAD[10:], 2, "lod", "load"),
    "limit of a wrong type": (
        "[nightly]\nmachine-state.load = 'x'\n" + HEAD[10:],
        2,
        "nightly.machine-state.load",
        "",
    ),
    "no limit to leave out": (
        "[nightly]\nmachine-state.load = true\n" + HEAD[10:],
        2,
        "nightly.machine-state.load",
        "",
    ),
    "state that is none": (
        "[nightly]\nmachine-state = 3\n" + HEAD[10:],
        2,
        "must be a table, not 3",
        "",
    ),
    "night that is none": ("nightly = 3\n", 1, "nightly must be a table, not 3", ""),
    "no night": ("", 1, "there is no table [nightly]", "workload"),
    "no capture": ("[nightly]\nbudget = '1h'", 1, "nightly.capture", "[[nightly.capture]]"),
    "one bracket": ("[nightly.capture]\nworkload = 'paged'", 1, "an array of tables", "two"),
    "capture that is none": (
        "[nightly]\ncapture = [3]",
        2,
        "nightly.capture must be a table, not 3",
        "",
    ),
    "other database": ("[nightly]\nhistory = 'mysql://h/d'\n" + HEAD[10:], 2, "mysql", "sqlite"),
    "history that is none": ("[nightly]\nhistory = 3\n" + HEAD[10:], 2, "nightly.history", ""),
}


@pytest.mark.parametrize("name", ONE_MISTAKE)
def test_a_mistake_is_told_with_its_line_and_what_to_do(name: str, refused: Refused) -> None:
    text, line, said, hint = ONE_MISTAKE[name]
    error = refused(text)
    assert error.message.startswith(f"tracekit.toml:{line}: "), error.message
    assert said in error.message
    assert hint in error.hint
    assert "\n" not in error.message


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    error = refused(
        "[nightly]\n"
        "budget = 'soon'\n"
        "[nightly.defaults]\n"
        "turn = 0\n"
        "[[nightly.capture]]\n"
        "name = 'decode'\n"
        "workload = 'paged'\n"
        "[[nightly.capture]]\n"
        "name = 'Decode'\n"
        "workload = 'sdpa'\n"
        "pairs = 'ten'\n"
    )
    head, *lines = error.message.splitlines()
    assert head == "tracekit.toml has 3 mistakes:"
    assert [line.split(": ")[0].strip() for line in lines] == [
        "tracekit.toml:2",
        "tracekit.toml:4",  # once, though two captures read it
        "tracekit.toml:11",
    ]
    assert "--init" in error.hint


def test_a_name_of_another_case_is_the_same_folder_on_some_disks(refused: Refused) -> None:
    error = refused(HEAD + "name = 'a'\n" + HEAD[10:] + "name = 'A'\n")
    assert error.message.startswith("tracekit.toml:7: nightly.capture.name is a second capture")


def test_what_holds_for_all_is_looked_at_in_each_capture(refused: Refused) -> None:
    error = refused("[nightly]\ndefaults.parameters = 3\n" + HEAD[10:])
    assert error.message.startswith("tracekit.toml:2: nightly.defaults.parameters")


def test_a_password_is_never_repeated(refused: Refused) -> None:
    error = refused("[nightly]\nhistory = 'mysql://ada:secret@host/d'\n" + HEAD[10:])
    assert "secret" not in error.message + error.hint


def test_a_shared_file_is_named_by_its_own_tables(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\nname = 'x'\n[tool.tracekit.nightly]\nbudgt = '1h'\n")
    with pytest.raises(UsageError) as refusal:
        read_plan(file)
    assert "4: tool.tracekit.nightly.budgt is no key" in refusal.value.message
    assert "3: tool.tracekit.nightly.capture must be" in refusal.value.message
    file.write_text("[project]\nname = 'x'\n")
    with pytest.raises(UsageError, match=r"there is no table \[tool.tracekit.nightly\]"):
        read_plan(file)


@pytest.mark.parametrize("text", ["raise OSError('no disk')\n", "def ("])
def test_a_workload_that_cannot_be_loaded_is_no_mistake_of_the_plan(
    text: str, plan_file: Path
) -> None:
    (plan_file.parent / "broken.py").write_text(text)
    head = "[nightly]\n[[nightly.capture]]\nworkload = 'broken'\nworkloads = '.'\n"
    plan_file.write_text(head + "parameters = { size = 1 }\n")
    (capture,) = read_plan(plan_file).captures
    assert (capture.workload, capture.parameters) == ("broken", {"size": 1})


def test_what_a_workload_needs_is_asked_for(plan_file: Path, refused: Refused) -> None:
    (plan_file.parent / "strict.py").write_text(
        "from tracekit.workload import Step, workload\n"
        "@workload\n"
        "def strict(*, size: int, more: int = 1) -> Step:\n"
        "    'Do nothing.'\n"
        "    return Step(submit=lambda: None, wait=lambda _: None)\n"
    )
    head = "[nightly]\n[[nightly.capture]]\nworkloads = '.'\nworkload = 'strict'\n"
    assert "4: nightly.capture.workload is not fit: The workload strict needs --size" in (
        refused(head).message
    )
    error = refused(head + "parameters = { size = 'x' }")
    assert "5: nightly.capture.parameters is not fit" in error.message
