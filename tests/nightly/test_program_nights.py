"""Nights whose sides are programs: two builds that print each of the formats that people have."""

from pathlib import Path

import pytest

from git_program import git
from tracekit.base.errors import UsageError
from tracekit.nightly.history.night import Entry, Outcome
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

# What each prints of a speed, $1, and of a time in s, $2; llama.cpp says its times on stderr.
PRINTS = {
    "json": """echo '[{"n_prompt": 0, "n_gen": 128, "avg_ts": '$1', "stddev_ts": 0.4, """
    """"samples_ts": ['$1', '$1', '$1']}]'""",
    "csv": """printf 'n_prompt,n_gen,avg_ts,stddev_ts\\n"0","128","%s","0.4"\\n' $1""",
    "markdown": """printf '| test | t/s |\\n|---|---|\\n| tg128 | %s ± 0.40 |\\n' $1""",
    "eval-time": "echo 'llama_print_timings:        eval time = 24513.59 ms /   399 runs   "
    "(   61.44 ms per token,    '$1' tokens per second)' >&2",
    "mlx-lm": "echo 'Generation: 128 tokens, '$1' tokens-per-sec'",
    "vllm": "echo 'Output token throughput (tok/s):      '$1",
    "hyperfine": """echo '{"results": [{"command": "x", "mean": '$2', "stddev": 0.01}]}'""",
    "own": "echo 'frame took '$2' s'",
}
METRICS = {
    "json": "tg128_tokens_per_second",
    "csv": "tg128_tokens_per_second",
    "markdown": "tg128_tokens_per_second",
    "eval-time": "generation_tokens_per_second",
    "mlx-lm": "generation_tokens_per_second",
    "vllm": "output_tokens_per_second",
    "hyperfine": "command_time",
    "own": "frame_time",
}
PLAN = """
[nightly]
name = "builds"
machine = "mini"
retries = 0
machine-state = { load = false, calibration = false }
[nightly.defaults]
pairs = 6
telemetry = "off"
"""
CAPTURE = """
[[nightly.capture]]
name = "{name}"
program = ["./new", "{name}"]
read = ["frame_time:s:lower:frame took ([0-9.]+) s"]
reference = {{ program = ["./old", "{name}"] }}
"""


def write_program(file: Path, speed: float, time: float, *, sleep: str = "") -> None:
    """Write a build: its first argument says what it prints."""
    cases = "".join(f"{name}) {line} ;;\n" for name, line in PRINTS.items())
    text = f"#!/bin/sh\nform=$1\nset -- {speed} {time}\n{sleep}\ncase $form in\n{cases}esac\n"
    file.write_text(text)
    file.chmod(0o755)


def entries_of(folder: Path, plan: str) -> dict[str, Entry]:
    (folder / "tracekit.toml").write_text(plan)
    night = run_night(read_plan(folder / "tracekit.toml"))
    return {entry.capture: entry for entry in night.entries}


def test_a_slower_build_is_a_regression_in_each_format(tmp_path: Path) -> None:
    write_program(tmp_path / "old", 60.1, 0.20)
    write_program(tmp_path / "new", 54.1, 0.22)
    captures = "".join(CAPTURE.format(name=name) for name in PRINTS)
    entries = entries_of(tmp_path, PLAN + captures)
    for name, metric in METRICS.items():
        entry = entries[name]
        assert entry.outcome is Outcome.REGRESSION, (name, metric, entry.reason)
        [decided] = [judged for judged in entry.judged if judged.gated]
        change = 54.1 / 60.1 - 1 if "second" in metric else 0.1
        assert decided.change == pytest.approx(change), (name, metric)
        assert (decided.metric, decided.reproduced) == (metric, True), (name, metric)
        orders = [pair.order for pair in entry.pairs[:3]]
        assert orders == ["ab", "ba", "ab"], (name, metric)
        assert entry.search == "", (name, metric)  # no command bisects programs
        followed = {judged.metric for judged in entry.judged}
        assert "wall_time" in followed, (name, metric)
        assert entry.candidate.words == f"./new {name}", (name, metric)


def test_a_program_that_prints_nothing_is_decided_by_the_time_of_a_run(tmp_path: Path) -> None:
    """It sleeps, so that a busy machine does not hide which one is slower."""
    write_program(tmp_path / "old", 1, 1)
    write_program(tmp_path / "new", 1, 1, sleep="sleep 0.5")
    entries = entries_of(tmp_path, PLAN + CAPTURE.format(name="silent"))
    [decided] = [judged for judged in entries["silent"].judged if judged.gated]
    assert (decided.metric, decided.unit, decided.better) == ("wall_time", "ns", "lower")
    assert entries["silent"].outcome is Outcome.REGRESSION


def test_a_revision_is_built_by_its_setup_and_runs_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "cache"))
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    (repository / ".gitignore").write_text("build/\nbench/\ntracekit.toml\n")
    (repository / "build.sh").write_text("mkdir -p build && cp source build/bench\n")
    write_program(repository / "source", 60.0, 1)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "fast")
    write_program(repository / "source", 50.0, 1)
    (repository / "build").mkdir()
    write_program(repository / "build" / "bench", 50.0, 1)
    git(repository, "commit", "--quiet", "-am", "slow")
    capture = """
    [[nightly.capture]]
    program = ["build/bench", "markdown"]
    reference = { revision = "HEAD~1", setup = ["sh", "build.sh"] }
    """
    entries = entries_of(repository, PLAN + capture)
    assert entries["bench"].outcome is Outcome.REGRESSION, entries["bench"].reason
    [decided] = [judged for judged in entries["bench"].judged if judged.gated]
    assert (decided.candidate, decided.reference) == (50.0, 60.0)


def test_a_program_that_fails_fails_its_capture_alone(tmp_path: Path) -> None:
    write_program(tmp_path / "old", 60.1, 0.2)
    write_program(
        tmp_path / "new", 60.1, 0.2, sleep='[ "$form" = csv ] && { echo no >&2; exit 7; }'
    )
    captures = CAPTURE.format(name="csv") + CAPTURE.format(name="json")
    entries = entries_of(tmp_path, PLAN + captures)
    assert entries["csv"].outcome is Outcome.FAILED
    assert "new csv ended with" in entries["csv"].reason
    assert "Its last words: no" in entries["csv"].reason
    assert entries["json"].outcome is Outcome.OK


def test_keys_that_mean_nothing_for_a_program_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "tracekit.toml"
    for more, words in (
        ('workload = "paged"', "workload has no meaning for a program."),
        ('reference = { python = "x" }', "reference.python has no meaning for a program."),
        ('read = ["a:b"]', "read is wrong: 'a:b' is not NAME:UNIT"),
        ('reference = { program = "./b" }\npairs = 3', "pairs must be at least 6"),
    ):
        file.write_text(f'[nightly]\n[[nightly.capture]]\nprogram = ["./a"]\n{more}\n')
        with pytest.raises(UsageError, match="capture") as raised:
            read_plan(file)
        assert words in raised.value.message
