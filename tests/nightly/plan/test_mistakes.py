"""What is wrong with a plan: told with file, line, column and key, all of it at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.reading import read_plan

Refused = Callable[..., UsageError]
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'

# Text, what is said of it, what the hint says. Lines 1 to 3 are HEAD's, line 4 the reference's.
ONE_MISTAKE = {
    "unknown key": (
        HEAD + "pears = 3",
        "4:1: nightly.capture.pears is no key",
        "Did you mean pairs?",
    ),
    "snake case": (HEAD + "time_limit = '5s'", "4:1: nightly.capture.time_limit is", "time-limit?"),
    "two commits": (
        REFERENCE + 'reference.merge-base = "main"',
        "5:11: nightly.capture.reference.merge-base names a commit, and revision names one",
        "Leave one of them out.",
    ),
    "an anchor of no commit": (
        HEAD + "reference.python = 'p'\nreference.anchor-every = 3",
        "5:11: nightly.capture.reference.anchor-every is for a commit's worktree",
        "",
    ),
    "no night before": (HEAD + "reference.previous-night = false", "does not say how it", ""),
    "the name of an anchor": (HEAD + "name = 'decode-anchor'", "must not end in -anchor", ""),
    "unknown key of the night": (
        "[nightly]\nbudgt = 1\n" + HEAD[10:],
        "2:1: nightly.budgt is",
        "budget",
    ),
    "unknown table": (HEAD + "[night]\n", "4:2: night is no table of a plan", "nightly"),
    "text for a number": (HEAD + "pairs = 'ten'", "4:1: nightly.capture.pairs must be a whole", ""),
    "flag for a number": (HEAD + "pairs = true", "must be a whole number, not true", ""),
    "fraction for a whole": (HEAD + "pairs = 7.5", "must be a whole number, not 7.5", ""),
    "number for a flag": (HEAD + "together = 1", "must be true or false, not 1", ""),
    "out of bounds": (HEAD + "pairs = 0", "pairs must be 1 to 1000; it is 0", ""),
    "huge": (HEAD + f"traced = {'9' * 400}", "traced must be 0 to 100", ""),
    "no length of time": (
        HEAD + "turn = '5 days'",
        "must be a length of time, not '5 days'",
        '"2h"',
    ),
    "time out of bounds": (HEAD + "turn = '11m'", "turn must be 1ms to 10m; it is 660 seconds", ""),
    "time without end": (HEAD + "turn = inf", "turn must be 1ms to 10m; it is inf", ""),
    "time that is no number": (HEAD + "turn = nan", "turn must be 1ms to 10m; it is nan", ""),
    "flag for a time": (HEAD + "turn = false", "must be a length of time, not false", ""),
    "no choice": (HEAD + "recorder = 'hots'", "must be one of", "Did you mean host?"),
    "empty text": (HEAD + "name = ' '", "nightly.capture.name must not be empty", ""),
    "no folder's name": (HEAD + "name = 'a/b'", "must be a name that can be a folder's", ""),
    "parent's name": (HEAD + "name = '..'", "must be a name that can be a folder's", ""),
    "control character": (HEAD + 'name = "a\\u0000"', "must not hold a null character", ""),
    "no template": (HEAD + "template = []", "must name a template", ""),
    "template of a wrong type": (
        HEAD + "template = [\n 'a',\n 3 ]",
        "6:2: nightly.capture.template",
        "",
    ),
    "flat check": (HEAD + "checks = ['python', '-m', 'x']", "none begins with a dash", "[["),
    "empty command": (HEAD + "checks = [[]]", "4:11: nightly.capture.checks must not be empty", ""),
    "open quote": (HEAD + 'checks = ["a \'b"]', "is no command: No closing quotation", ""),
    "a word that is none": (
        HEAD + "checks = [['a', 1]]",
        "4:17: nightly.capture.checks must be text",
        "",
    ),
    "a moment": (
        HEAD + "parameters.batch = 1979-05-27",
        "4:12: nightly.capture.parameters.batch",
        "",
    ),
    "parameters that are none": (HEAD + "parameters = 3", "parameters must be a table, not 3", ""),
    "no workload": (HEAD[:30], "2:1: nightly.capture has no workload", "tracekit workloads"),
    "unknown workload": (
        HEAD[:30] + "workload = 'pagd'",
        "no workload 'pagd'",
        "Did you mean paged?",
    ),
    "any program": (HEAD[:30] + "workload = 'command'", "cannot be measured in turns", ""),
    "unknown parameter": (
        HEAD + "parameters.bach = 1",
        "4:12: nightly.capture.parameters.bach",
        "batch",
    ),
    "unfit parameter": (
        HEAD + "parameters = { batch = 0 }",
        "4:16: nightly.capture.parameters.batch",
        "",
    ),
    "of a wrong kind": (
        HEAD + "parameters = { dtype = 'int3' }",
        "parameters.dtype is not fit",
        "",
    ),
    "unknown rule": (
        HEAD + "fail-on = ['bubbles', 'bubles']",
        "4:23: nightly.capture.fail-on names",
        "bubbles?",
    ),
    "rules without traces": (
        HEAD + "traced = 0\nfail-on = 'bubbles'",
        "5:1: nightly.capture.fail-on needs",
        "",
    ),
    "empty reference": (HEAD + "reference = {}", "4:1: nightly.capture.reference does not say", ""),
    "no reference": (HEAD + "reference = 'main'", "reference must be a table, not 'main'", ""),
    "setup of nothing": (HEAD + "reference = { python = 'p', setup = 'x' }", "4:29: ", ""),
    "an option for a revision": (HEAD + "reference.revision = '--all'", "is an option", ""),
    "reference's workload": (
        HEAD + "reference.workload = 'sdp'",
        "4:11: nightly.capture.reference.workload",
        "sdpa",
    ),
    "reference's parameter": (
        HEAD + "reference.parameters.batches = 1",
        "has no parameter 'batches'",
        "batch",
    ),
    "unknown metric": (
        REFERENCE + "metrics.step_p5 = 0.1",
        "5:9: nightly.capture.metrics.step_p5",
        "step_p50?",
    ),
    "threshold of 0": (
        REFERENCE + "metrics.step_p50 = 0",
        "metrics.step_p50 must be above 0; it is 0",
        "",
    ),
    "threshold in percent": (
        REFERENCE + "metrics.step_p50 = 30",
        "must be below 10 for a ratio",
        "3 %",
    ),
    "threshold of a table": (
        REFERENCE + "metrics.step_p50 = { threshold = 30 }",
        "5:22: nightly.capture.metrics.step_p50.threshold must be below 10",
        "",
    ),
    "unknown key of a metric": (REFERENCE + "metrics.step_p50.gates = true", "5:18: ", "gate?"),
    "no scale": (REFERENCE + "metrics.step_p50.scale = 'log'", 'must be one of "ratio"', ""),
    "no direction": (
        REFERENCE + "traced = 6\nmetrics.gpu_busy = 0.1",
        "neither direction",
        "better",
    ),
    "no traces": (
        REFERENCE + "traced = 0\nmetrics.memory_peak = 0.1",
        "traced is 0",
        "traced be 1",
    ),
    "too few traces": (
        REFERENCE + "metrics.memory_peak = 0.1",
        "by fewer than 6 traces",
        "gate be false",
    ),
    "too few pairs": (
        REFERENCE + "pairs = 5",
        "5:1: nightly.capture.pairs must be at least 6",
        "gate",
    ),
    "gate without a reference": (
        HEAD + "metrics.step_p50.gate = true",
        "4:9: nightly.capture.metrics.step_p50 cannot decide without a reference",
        "Add [nightly.capture.reference]",
    ),
    "name for all": (
        "[nightly]\ndefaults.name = 'a'\n" + HEAD[10:],
        "2:10: nightly.defaults.name",
        "",
    ),
    "unknown limit": ("[nightly]\nmachine-state.lod = 1\n" + HEAD[10:], "2:15: ", "load"),
    "limit of a wrong type": (
        "[nightly]\nmachine-state.load = 'x'\n" + HEAD[10:],
        "a number, not 'x'",
        "",
    ),
    "no size": (
        "[nightly]\nmachine-state.memory-free = 'x'\n" + HEAD[10:],
        "must be a size",
        "GiB",
    ),
    "no pressure": ("[nightly]\nmachine-state.thermal-pressure = 'x'\n" + HEAD[10:], "Nominal", ""),
    "state that is none": (
        "[nightly]\nmachine-state = 3\n" + HEAD[10:],
        "must be a table, not 3",
        "",
    ),
    "night that is none": ("nightly = 3\n", "1:1: nightly must be a table, not 3", ""),
    "no night": ("", "1:1: there is no table [nightly]", "workload"),
    "no capture": (
        "[nightly]\nbudget = '1h'",
        "1:2: nightly has no capture",
        "[[nightly.capture]]",
    ),
    "one bracket": ("[nightly.capture]\nworkload = 'paged'", "must be an array of tables", "two"),
    "capture that is none": (
        "[nightly]\ncapture = [3]",
        "2:12: nightly.capture must be a table, not 3",
        "",
    ),
    "no address": (
        "[nightly]\nhistory = 'x'\n" + HEAD[10:],
        "2:1: nightly.history is no URL",
        "sqlite",
    ),
    "other database": ("[nightly]\nhistory = 'mysql://h/d'\n" + HEAD[10:], "not of mysql", ""),
    "nothing kept": ("[nightly]\nhistory = 'sqlite://'\n" + HEAD[10:], "nothing would be kept", ""),
    "history that is none": (
        "[nightly]\nhistory = 3\n" + HEAD[10:],
        "history must be text, not 3",
        "",
    ),
}


@pytest.mark.parametrize("name", ONE_MISTAKE)
def test_a_mistake_is_told_with_its_line_and_what_to_do(name: str, refused: Refused) -> None:
    text, said, hint = ONE_MISTAKE[name]
    error = refused(text)
    assert error.message.startswith("tracekit.toml:"), error.message
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
    assert head == "tracekit.toml has 4 mistakes:"
    assert [line.split(": ")[0].strip() for line in lines] == [
        "tracekit.toml:2:1",
        "tracekit.toml:4:1",  # once, though two captures read it
        "tracekit.toml:9:1",
        "tracekit.toml:11:1",
    ]
    assert "is a second capture named 'Decode'" in lines[2]
    assert "--init" in error.hint


def test_a_password_is_never_repeated(refused: Refused) -> None:
    for address in ("mysql://ada:secret@host/d", "ada:secret@host/d"):
        error = refused(f"[nightly]\nhistory = '{address}'\n" + HEAD[10:])
        assert "secret" not in error.message + error.hint


def test_a_shared_file_is_named_by_its_own_tables(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\nname = 'x'\n[tool.tracekit.nightly]\nbudgt = '1h'\n")
    with pytest.raises(UsageError) as refusal:
        read_plan(file)
    assert "4:1: tool.tracekit.nightly.budgt is no key" in refusal.value.message
    assert "3:16: tool.tracekit.nightly has no capture" in refusal.value.message
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
    assert "4:1: nightly.capture.workload is not fit: The workload strict needs --size" in (
        refused(head).message
    )
    error = refused(head + "parameters = { size = 'x' }")
    assert "5:16: nightly.capture.parameters.size is not fit" in error.message
    error = refused(head + "parameters = { more = 'x', size = 1, odd = 2 }")
    assert "5:16: nightly.capture.parameters.more" in error.message
    assert "5:38: nightly.capture.parameters.odd" in error.message
