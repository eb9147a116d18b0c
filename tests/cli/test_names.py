"""The tree of commands: how many names there are, their headings, and the names of before."""

from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import application
from tracekit.cli.names import GROUPS, HEADINGS, RENAMED, translate

NIGHTLY = {"run", "init", "rehearse", "install", "status", "history", "gate"}
BENCH = {"run", "tune", "chip", "ab"}


def test_at_most_twenty_names_are_at_the_top_and_each_has_a_heading() -> None:
    headed_names = [name for command_names in HEADINGS.values() for name in command_names]
    assert sorted(application([]).commands) == sorted(headed_names)
    assert len(headed_names) <= 20
    assert GROUPS.keys() <= set(headed_names)
    assert RENAMED.keys().isdisjoint(headed_names)


def test_help_shows_the_names_below_their_headings(tracekit: Any) -> None:
    lines = tracekit("--help").out.splitlines()
    first_line = lines.index(f"{next(iter(HEADINGS))}:")
    expected_lines: list[str] = []
    for heading, command_names in HEADINGS.items():
        expected_lines += [f"{heading}:", *command_names, ""]
    first_words = [line.split()[0] if line.startswith(" ") else line for line in lines[first_line:]]
    assert first_words == expected_lines[:-1]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("gate NIGHT --json", "nightly gate NIGHT --json"),
        ("history sync --config a.toml", "nightly history sync --config a.toml"),
        ("baseline accept x --reason y", "nightly baseline accept x --reason y"),
        ("verify-kernel all", "kernel verify all"),
        ("templates make x", "list templates make x"),
        ("templates", "list templates"),
        ("nightly", "nightly run"),
        ("nightly tracekit.toml", "nightly run tracekit.toml"),
        ("nightly --dry-run a.toml", "nightly run --dry-run a.toml"),
        ("nightly --init", "nightly init"),
        ("nightly a.toml --rehearse --json", "nightly rehearse a.toml --json"),
        ("nightly run --rehearse", "nightly rehearse"),
        ("bench", "bench run"),
        ("ab paged -- batch=8", "bench ab paged -- batch=8"),
        ("bench --list", "bench run --list"),
        ("bench --tune -o x.json", "bench tune -o x.json"),
    ],
)
def test_a_name_of_before_is_the_command_of_today_and_a_note(before: str, now: str) -> None:
    subcommands = BENCH if before.startswith("bench") else NIGHTLY
    words, note = translate(before.split(), subcommands)
    assert words == now.split()
    first_words = " ".join(words[:2])
    assert note.startswith("`tracekit ")
    assert f"is now `tracekit {first_words}`; the old name works in 0.1 only." in note


@pytest.mark.parametrize(
    ("before", "now", "option"),
    [
        ("nightly gate --plan a.toml", "nightly gate --config a.toml", "nightly gate --config"),
        ("gate x --plan=a.toml", "nightly gate x --config=a.toml", "nightly gate --config"),
        ("history --export -", "nightly history --output -", "nightly history --output"),
        ("verify-kernel all --patience 5", "kernel verify all --time-limit 5", "--time-limit"),
        ("bench --repetitions 3", "bench run --repeats 3", "bench run --repeats"),
        ("bench tune --repetitions 3", "bench tune --repeats 3", "bench tune --repeats"),
    ],
)
def test_an_option_of_before_is_the_option_of_today_and_a_note(
    before: str, now: str, option: str
) -> None:
    subcommands = BENCH if before.startswith("bench") else NIGHTLY
    words, note = translate(before.split(), subcommands)
    assert words == now.split()
    assert f"{option}`; the old name works in 0.1 only." in note


def test_a_name_of_today_stays_as_it_is() -> None:
    lines = (
        "",
        "--help",
        "analyze gate",
        "nightly run a.toml",
        "nightly gate --bisect",
        "nightly --help",
        "nightly install",
        "bench chip",
        "bench ab paged -- batch=8",
        "bench -h",
        "runs verify x",
        "nightly history --plan decode",
        "nightly gate -- --plan",
    )
    for line in lines:
        assert translate(line.split(), BENCH | NIGHTLY) == (line.split(), ""), line


def test_a_name_of_before_keeps_its_output_and_exit_code(
    tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = (
        ("rules bubbles", "list rules bubbles"),
        ("gate nowhere", "nightly gate nowhere"),
        ("baseline list", "nightly baseline list"),
        ("nightly nowhere.toml --bisect", "nightly run nowhere.toml --bisect"),
        ("nightly --init a.toml", "nightly init b.toml"),
        ("verify-kernel nowhere.metal", "kernel verify nowhere.metal"),
        ("bench --list", "bench run --list"),
        ("ab nowhere/a -- x=1", "bench ab nowhere/a -- x=1"),
    )
    for before, now in pairs:
        old, new = tracekit(*before.split()), tracekit(*now.split())
        assert old.code == new.code, before
        assert old.out == new.out.replace("b.toml", "a.toml"), before
        note, rest = old.err.split("\n", 1)
        assert note.endswith("; the old name works in 0.1 only."), before
        assert rest == new.err, before
