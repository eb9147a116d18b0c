"""The tree of commands: what a group's help imports, and where it has its sentences."""

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from command_line import iterate_commands
from tracekit.cli.tree import COMMANDS, LazyCommand, find_docstring


def test_a_listed_command_has_the_sentence_of_its_own_help(
    subtests: pytest.Subtests,
) -> None:
    commands = dict(iterate_commands())
    assert COMMANDS.keys() <= commands.keys()
    for path in COMMANDS:
        with subtests.test(path):
            summary = commands[path].get_short_help_str(70)
            assert summary
            assert LazyCommand(path, []).get_short_help_str(70) == summary


def test_the_docstring_of_a_function_is_found_without_an_import() -> None:
    docstring = find_docstring("nightly gate")
    assert docstring is not None
    assert docstring.startswith("Report by exit code")
    assert find_docstring("nightly history") is None  # an application of its own


class CodelessHook:
    """An import hook that takes each module, with a loader that has no `get_code`, as pytest's."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec:
        """Return where a module would come from."""
        return ModuleSpec(name, None, origin="hook")


def test_a_hook_of_imports_does_not_hide_the_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tracekit.cli.gate", raising=False)
    monkeypatch.setattr(sys, "meta_path", [CodelessHook, *sys.meta_path])
    docstring = find_docstring("nightly gate")
    assert docstring is not None
    assert docstring.startswith("Report by exit code")


def test_help_imports_no_module_of_a_command() -> None:
    program = (
        "import sys\n"
        "from tracekit.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('tracekit.cli.')))"
    )
    completion = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert completion.stdout.splitlines()[-1].split() == [
        "tracekit.cli.console",
        "tracekit.cli.main",
        "tracekit.cli.names",
        "tracekit.cli.tree",
    ]
