"""The tree of commands. The module of a command is imported when that command is used.

The help of a group needs one sentence of each command. `find_docstring` takes it from the compiled
code of the command's module, which is not run for that: the docstring is its only source.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType
from typing import Any, Final

import typer
import typer.core

from tracekit.cli import names

COMMANDS: Final = {
    "capture": "stages.capture",
    "record": "stages.record",
    "export": "stages.export",
    "analyze": "stages.analyze",
    "report": "stages.report",
    "import": "stages.import_",
    "demo": "demo.demo",
    "open": "show.open_",
    "tables": "show.tables",
    "query": "query.query",
    "convert": "convert.convert",
    "batch": "batch.batch",
    "compare": "compare.compare",
    "doctor": "doctor.doctor",
    "mcp": "agent_server.mcp",
    "bench run": "bench.run",
    "bench ab": "compare.ab",
    "bench tune": "bench.tune",
    "bench sweep": "sweep.sweep",
    "bench load": "load.load",
    "bench runtimes": "runtimes.runtimes",
    "bench chip": "chip.chip",
    "nightly run": "nightly.run",
    "nightly init": "nightly.init",
    "nightly rehearse": "nightly.rehearse",
    "nightly install": "nightly.install",
    "nightly status": "nightly.status",
    "nightly uninstall": "nightly.uninstall",
    "nightly gate": "gate.gate",
    "nightly history": "history.app",
    "nightly baseline": "baseline.app",
    "kernel check": "check.check",
    "kernel replay": "replay.replay",
    "kernel verify": "verify.verify_kernel",
    "kernel parity": "verify.parity",
    "list workloads": "show.workloads",
    "list rules": "show.rules",
    "list templates": "doctor.app",
    "runs index": "query.index",
    "runs verify": "whole.verify",
    "runs recover": "stages.recover",
    "runs prune": "prune.prune",
    "runs redact": "redact.redact",
}
"""All commands by their path, in the order of the help: a module of `cli`, and what is in it.

That is a function, or a `typer.Typer` with commands and options of its own.
"""

_PLANNED = ("capture", "record")  # commands with the options of a plan
_VERIFYING = "kernel verify"  # has the options of the check that is named
_CLASSES: Final = {"bench ab": "compare.Sides"}

Registered = Callable[..., None] | typer.Typer


class LazyCommand(typer.core.TyperCommand):
    """A command, or a group of them, that is imported to be parsed and not to be listed."""

    def __init__(self, path: str, words: Sequence[str]) -> None:
        super().__init__(path.rpartition(" ")[2])
        self._path = path
        self._words = words

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Parse the arguments of the command itself, whose context it is."""
        return self.load().make_context(info_name, args, *rest, **more)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence of the help, which needs no import of a function's module."""
        self.help = find_docstring(self._path)
        if self.help is None:
            return self.load().get_short_help_str(limit)
        return super().get_short_help_str(limit)

    def load(self) -> typer.core.TyperCommand | typer.core.TyperGroup:
        """Import the command, with the options that the words of the command line add to it."""
        name = str(self.name)
        app = make_app()
        registered = _import_command(self._path, self._words)
        if isinstance(registered, typer.Typer):
            app.add_typer(registered, name=name)
        else:
            command_class: Any = None
            if self._path in _CLASSES:
                command_class = _import(_CLASSES[self._path])
            app.command(name, cls=command_class)(registered)
        command: Any = typer.main.get_group(app).commands[name]
        return command


def make_app(**settings: Any) -> typer.Typer:
    """Return a typer application in our style: plain help, which starts in a third of the time."""
    return typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, **settings
    )


def add_commands(root: typer.core.TyperGroup, words: Sequence[str]) -> None:
    """Add all commands to the root of the tree; `words` are those of the command line."""
    for path in COMMANDS:
        group_name, _, name = path.rpartition(" ")
        parent: Any = root
        if group_name:
            if group_name not in root.commands:
                root.commands[group_name] = typer.core.TyperGroup(
                    name=group_name,
                    help=names.GROUPS[group_name],
                    no_args_is_help=True,
                    rich_markup_mode=None,
                )
            parent = root.commands[group_name]
        parent.commands[name] = LazyCommand(path, words)


def find_subcommands(words: Sequence[str]) -> set[str]:
    """Return the names in the group at the top of the tree that the words name."""
    head = f"{' '.join(words)} "
    return {path.removeprefix(head) for path in COMMANDS if path.startswith(head)}


def find_docstring(path: str) -> str | None:
    """Return the docstring of a command's function, whose module is not imported for it.

    It is None if the command is an application of its own, or if Python leaves docstrings out.
    """
    module_name, _, function_name = COMMANDS[path].partition(".")
    name = f"{__package__}.{module_name}"
    # Hooks such as pytest's, which rewrites the modules of its plugins, have no code to show.
    specification = PathFinder.find_spec(name, [str(Path(__file__).parent)])
    loader: Any = specification and specification.loader
    module_code: CodeType = loader.get_code(name)
    for constant in module_code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == function_name:
            docstring = constant.co_consts[0]  # where Python keeps it; None with -OO
            return docstring and inspect.cleandoc(docstring)
    return None


def _import_command(path: str, words: Sequence[str]) -> Registered:
    """Import a command, with the options of the workload or the check that the words name."""
    command: Any = _import(COMMANDS[path])
    path_words = path.split()
    arguments: Sequence[str] = []
    if list(words[: len(path_words)]) == path_words:
        arguments = words[len(path_words) :]
    if path in _PLANNED:
        from tracekit.cli import options

        return options.add_plan_options(command, options.named_workload(arguments))
    if path == _VERIFYING:
        from tracekit.cli import verify

        return verify.with_parameters(arguments)
    return command


def _import(place: str) -> Any:
    module_name, _, name = place.partition(".")
    return getattr(importlib.import_module(f"{__package__}.{module_name}"), name)
