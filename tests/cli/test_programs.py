"""Programs as people name them: recorded by both recorders, or refused in a sentence."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error

pytestmark = pytest.mark.processes

LINE = ("-c", "echo it ran")
SCRIPT = 'sh "$@"\n'
MACH_O = b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"
UNIVERSAL = b"\xca\xfe\xba\xbe\x00\x00\x00\x02"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of programs, of what can be mistaken for one, and of a folder of tools."""
    home = tmp_path / "home"
    tools = home / "more tools"
    tools.mkdir(parents=True)
    shutil.copy("/bin/sh", home / "llama-bench")
    shutil.copy("/bin/sh", tools / "tool")
    (home / "link").symlink_to("more tools/tool")
    scripts = {
        "script": f"#!/bin/sh\n{SCRIPT}".encode(),
        "plain-script": SCRIPT.encode(),
        "without-interpreter": b"#!/no/such/python3 -u\n",
        "windows-script": b"#!/bin/sh\r\necho ran\r\n",
        "mac-program": MACH_O,
        "mac-universal": UNIVERSAL,
        "data": SCRIPT.encode(),
    }
    for name, text in scripts.items():
        (home / name).write_bytes(text)
        (home / name).chmod(0o755)
    (home / "data").chmod(0o644)
    (home / "dangling").symlink_to("gone")
    (home / "LM Studio.app").mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("recorder", ["host", "xctrace"])
@pytest.mark.parametrize(
    ("program", "search", "folder"),
    [
        ("./llama-bench", "", "."),
        ("more tools/tool", "", "."),
        ("./more tools/../llama-bench", "", "."),
        ("../llama-bench", "", "more tools"),
        ("./link", "", "."),
        ("./script", "", "."),
        ("./plain-script", "", "."),
        ("script", ":", "."),
        ("tool", "more tools:", "."),
        ("sh", "", "."),
    ],
)
def test_a_program_is_recorded(
    recorder: str, program: str, search: str, folder: str, home: Path,
    scenario: Callable[..., None], tracekit: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", f"{search}{os.environ['PATH']}")
    monkeypatch.chdir(home / folder)
    options = ("--recorder", recorder, "--time-limit", "20s", "--output", home / "run")
    result = tracekit("record", *options, "--", program, *LINE)
    assert result.code in {0, 4}, result.err  # the fake's trace may lack GPU work of such a program
    assert (home / "run" / "output.txt").read_text() == "it ran\n"


@pytest.mark.parametrize("recorder", ["host", "xctrace"])
def test_a_program_that_cannot_be_started_is_refused_in_a_sentence(
    recorder: str, home: Path, scenario: Callable[..., None], tracekit: Any,
    subtests: pytest.Subtests,
) -> None:  # fmt: skip
    output = home / "run"
    for program, *words in (
        ("llama-bench", "no folder of PATH has a program of that name", "Write ./llama-bench for"),
        ("no-such-program", "no folder of PATH has a program of that name", "Install it, or"),
        ("./no-such-program", "No such file or directory", "A path counts from the folder in"),
        ("./more tools", "'./more tools' cannot be started: it is a folder, not a program"),
        ("./data", "it is not executable", "`chmod +x ./data` makes it so", "`python3 ./data`"),
        ("./data/x", "Not a directory"),
        ("./dangling", "it is a link to 'gone', which does not exist"),
        ("~/llama-bench", "No such file", "The shell replaces ~ only outside of quotes"),
        ("./without-interpreter", "names the interpreter '/no/such/python3', which does not"),
        ("./windows-script", r"the interpreter '/bin/sh\r', which", "the line ends of Windows"),
        ("LM Studio.app", "it is an app bundle", "Name the executable inside it"),
        ("", "'' cannot be started: the name of the program is empty"),
    ):
        with subtests.test(program):
            result = tracekit("capture", "--recorder", recorder, "--output", output, "--", program)
            assert_error(result, 2, "cannot be started: ", *words)
            assert not output.exists()


@pytest.mark.skipif("sys.platform != 'linux'", reason="these are programs of a Mac")
def test_a_program_for_another_system_is_refused(home: Path, tracekit: Any) -> None:
    for name in ("./mac-program", "./mac-universal"):
        result = tracekit("capture", "--recorder", "host", "--output", home / "run", "--", name)
        assert_error(result, 2, f"{name} cannot be started: it is a program for macOS.")


def test_a_program_that_crashed_has_the_search_for_its_cause_in_the_hint(
    home: Path, tracekit: Any
) -> None:
    program = ("sh", "-c", "kill -SEGV $$")
    result = tracekit("capture", "--recorder", "host", "--output", home / "run", "--", *program)
    assert_error(result, 3, "sh ended with signal SIGSEGV.")
    hint = "`tracekit doctor --symptom crash -- sh -c 'kill -SEGV $$'` looks for the cause. Go on"
    assert hint in result.err
