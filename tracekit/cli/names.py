"""The names of commands: the headings of the help, and the names of before.

A name of before works for one release. `translate` turns its command line into that of today, so
that only today's names are registered, completed and shown in the help.
"""

from collections.abc import Collection, Sequence
from typing import Final

HEADINGS: Final = {
    "Capture, or its stages one by one": ("capture", "record", "export", "analyze", "report"),
    "Recordings, of any origin": ("demo", "import", "open", "tables", "query", "convert", "batch"),
    "Measure and compare": ("compare", "bench", "nightly", "kernel"),
    "This machine, and what is on it": ("doctor", "list", "runs", "mcp"),
}
"""The headings of the help, and the names at the top of the tree below each one, in order."""

GROUPS: Final = {
    "bench": "Measure variants and implementations, and show the limits of the chip.",
    "kernel": "Check that kernels are right, on any machine.",
    "list": "List workloads, rules and templates.",
    "nightly": "Measure a plan's captures, now or every night.",
    "runs": "Look after runs: list, verify, recover, prune and redact them.",
}
"""The groups at the top of the tree, and the purpose of each."""

RENAMED: Final = {
    "ab": "bench ab",
    "baseline": "nightly baseline",
    "chip": "bench chip",
    "gate": "nightly gate",
    "history": "nightly history",
    "index": "runs index",
    "parity": "kernel parity",
    "prune": "runs prune",
    "recover": "runs recover",
    "redact": "runs redact",
    "rules": "list rules",
    "templates": "list templates",
    "verify": "runs verify",
    "verify-kernel": "kernel verify",
    "workloads": "list workloads",
}
"""Names of before and those of today; arguments stay as they are."""

MOVED_OPTIONS: Final = {
    "bench --tune": "bench tune",
    "nightly --init": "nightly init",
    "nightly --rehearse": "nightly rehearse",
}
"""Options of before that are commands of their own today."""

RENAMED_OPTIONS: Final = {
    "bench run --repetitions": "--repeats",
    "bench tune --repetitions": "--repeats",
    "kernel verify --patience": "--time-limit",
    "nightly gate --plan": "--config",
    "nightly history --export": "--output",
}
"""Options of before, after their command of today, and those of today; values stay as they are."""

RUN: Final = "run"
RAN_ALONE: Final = ("bench", "nightly")
"""Groups that were commands before: their own name ran `run`."""
_HELP = ("--help", "-h")
_END_OF_OPTIONS = "--"


def translate(words: Sequence[str], subcommands: Collection[str]) -> tuple[list[str], str]:
    """Return a command line in the names of today, and the note on names of before.

    `subcommands` are the names in the group that the first word names, if it is one. The note is
    empty if the words are those of today.
    """
    new_words, command_note = _translate_command(words, subcommands)
    new_words, option_notes = _translate_options(new_words)
    notes = [note for note in (command_note, *option_notes) if note]
    return new_words, " ".join(notes)


def _translate_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line of today's command with today's options, and a note on each change."""
    new_words = list(words)
    last = len(new_words)
    if _END_OF_OPTIONS in new_words:
        last = new_words.index(_END_OF_OPTIONS)
    notes: dict[str, None] = {}
    for old_name, new_option in RENAMED_OPTIONS.items():
        command, old_option = old_name.rsplit(" ", 1)
        if " ".join(new_words[:2]) != command:
            continue
        for place in range(2, last):
            option, equals, value = new_words[place].partition("=")
            if option == old_option:
                new_words[place] = f"{new_option}{equals}{value}"
                notes[_note(old_name, f"{command} {new_option}")] = None
    return new_words, list(notes)


def _translate_command(words: Sequence[str], subcommands: Collection[str]) -> tuple[list[str], str]:
    """Return a command line with the command of today, and the note on its name of before."""
    if not words:
        return [], ""
    first_word, *arguments = words
    if first_word in RENAMED:
        new_name = RENAMED[first_word]
        return [*new_name.split(), *arguments], _note(first_word, new_name)
    if first_word not in RAN_ALONE:
        return list(words), ""
    named_run = arguments[:1] == [RUN]
    old_name = first_word
    if named_run:
        arguments = arguments[1:]
        old_name = f"{first_word} {RUN}"
    elif arguments and (arguments[0] in subcommands or arguments[0] in _HELP):
        return list(words), ""
    for old_option, new_name in MOVED_OPTIONS.items():
        group, option = old_option.split()
        if group == first_word and option in arguments:
            arguments.remove(option)
            return [*new_name.split(), *arguments], _note(f"{old_name} {option}", new_name)
    new_name = f"{first_word} {RUN}"
    note = ""
    if not named_run:
        note = _note(first_word, new_name)
    return [*new_name.split(), *arguments], note


def _note(old_name: str, new_name: str) -> str:
    return f"`tracekit {old_name}` is now `tracekit {new_name}`; the old name works in 0.1 only."
