"""Strings of a trace, and names of files, have no effect on a terminal."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Process, RunInfo, write_bundle
from command_line import run
from small_bundle import intervals, ticks
from terminal import on_terminal

TITLE = "\x1b]0;owned\x07"
HOSTILE = f"ev{TITLE}il\x9b31m\u202e[bold red]:smile:\x1b[8mhidden"
EVIL = Process(4711, HOSTILE)
# What rich itself sends: styles, and the lines and cursor of a spinner.
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|2K|1A|\?25[lh])|\r")
HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a bundle and of the run that was made of it, called as the process in them."""
    folder = tmp_path_factory.mktemp("evil") / f"a{HOSTILE}b"
    folder.mkdir()
    tables = [ticks([1]), intervals((0, 10, EVIL), (5, 10, EVIL))]
    write_bundle(folder / "evil.trace", tables, info=RunInfo(process=HOSTILE))
    assert run("import", folder / "evil.trace", "--output", folder / "run") == 0
    assert run("analyze", folder / "run") in {0, 4}
    return folder


def placed(arguments: tuple[str, ...], folder: Path, out: Path) -> list[str]:
    places = {"BUNDLE": folder / "evil.trace", "RUN": folder / "run", "FOLDER": folder}
    places |= {"OUT": out / HOSTILE, "OUT.csv": out / f"{HOSTILE}.csv"}
    return [str(places.get(one, one)) for one in arguments]


COMMANDS = {
    "a table that is written": ("tables", "BUNDLE", "gpu_intervals", "--output", "OUT.csv"),
    "a table of a bundle": ("tables", "BUNDLE", "gpu_intervals"),
    "a table of a run": ("tables", "RUN", "gpu_intervals"),
    "a table that is not there": ("tables", "RUN", HOSTILE),
    "import": ("import", "BUNDLE", "--output", "OUT"),
    "import of another target": ("import", "BUNDLE", "--output", "OUT", "--target", "nobody"),
    "analyze": ("analyze", "RUN"),
    "report": ("report", "RUN"),
    "convert of a bundle": ("convert", "BUNDLE", "OUT", "--to", "csv"),
    "convert of a run": ("convert", "RUN", "OUT", "--to", "csv"),
    "export": ("export", "BUNDLE", "OUT"),
    "query": ("query", "select process from gpu_intervals", "RUN"),
    "query as CSV": ("query", "select * from gpu_intervals", "RUN", "--format", "csv"),
    "query that is wrong": ("query", f'select "{HOSTILE}"', "RUN"),
    "compare": ("compare", "RUN", "RUN", "--html", "OUT"),
    "index": ("index", "FOLDER"),
    "an option that is not there": ("tables", f"--{HOSTILE}"),
    "a folder that is not there": ("analyze", f"nowhere{HOSTILE}"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_no_sequence_of_a_trace_reaches_the_terminal(
    arguments: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    _, shown = on_terminal(*placed(arguments, folder, tmp_path))
    assert "owned" in shown
    assert "\x1b[8m" not in shown
    assert not HARM.search(OURS.sub("", shown).replace("\n", "")), ascii(shown)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.startswith(("a", "query"))])
def test_no_sequence_of_a_trace_gets_into_a_pipe(
    name: str, folder: Path, tmp_path: Path, tracekit: Callable[..., Any]
) -> None:
    arguments = COMMANDS[name]
    ran = tracekit(*placed(arguments, folder, tmp_path))
    document = "--format" in arguments  # its bytes are those of the trace
    assert document or not HARM.search((ran.out + ran.err).replace("\n", "")), ascii(ran.out)


def test_a_document_on_a_terminal_has_the_same_values(folder: Path) -> None:
    code, shown = on_terminal("analyze", folder / "run", "--json")
    assert code in {0, 4}
    document = OURS.sub("", shown)
    result, _ = json.JSONDecoder().raw_decode(document[document.index("{") :])
    assert result == json.loads((folder / "run" / "result.json").read_text())
    assert not HARM.search(document.replace("\n", ""))
