"""The command line: its commands, and the words and exit codes of errors."""

import errno
import gc
import logging
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
import typer.core

from tracekit.base import (
    InterruptedRunError,
    RecordingError,
    ToolError,
    TracekitError,
    UsageError,
    streams,
)
from tracekit.cli import console, names, tree

_OUR_BUG = 70
# New objects before a search for garbage. Python's 700 cost a tenth of a command's time, because
# imports make hundreds of thousands of objects that stay.
_OBJECTS_PER_COLLECTION = 50_000
_STOPPING = [number for number in signal.Signals if number.name in {"SIGINT", "SIGTERM", "SIGHUP"}]
_QUIET = {"-q", "--quiet"}
_VERBOSE = {"-v", "--verbose"}
_JSON = {"--json", "--json-summary"}
_SPELLINGS = {"--json=summary": "--json-summary"}  # an option of its own, which typer can parse
_taking_turns = threading.RLock()
_JUDGES = ("bench ab", "nightly gate", "nightly run")  # commands that `git bisect run` may ask
_PLACES = {
    *(errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT, errno.EIO),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.EFBIG),
}


_UsageError: Any = typer.BadParameter.__mro__[1]  # which typer prints, and ends with 2


class _Root(typer.core.TyperGroup):
    """All commands; errors for which typer would exit with 1, a regression, have our codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with console.accounting():
                return super().invoke(ctx)
        except _UsageError as error:
            console.note_usage_error(error.format_message())
            raise
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "Interrupted.", hint="No file is half written; the same command begins again."
            ) from None
        except BrokenPipeError as error:
            raise ToolError("A program or service closed its connection.") from error
        except EOFError as error:
            raise RuntimeError("Something ended early.") from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below their headings; rich would take three times as long."""
        width = max(map(len, self.commands))
        for heading, command_names in names.HEADINGS.items():
            rows: list[tuple[str, str]] = []
            for name in command_names:
                command = self.get_command(ctx, name)
                if command is not None:
                    summary = command.get_short_help_str(formatter.width - width - 6)
                    rows.append((f"{name:<{width}}", summary))
            with formatter.section(heading):
                formatter.write_dl(rows)


def application(words: Sequence[str]) -> typer.core.TyperGroup:
    """Return the command line, with the options of the workload that its words name."""
    app = tree.make_app(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback()(_global_options)
    root: Any = typer.main.get_command(app)
    tree.add_commands(root, words)
    return root


def _begins_with(arguments: Sequence[str], words: Sequence[str]) -> bool:
    return list(arguments[: len(words)]) == list(words)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error that a user can act on is a sentence, not a traceback.

    It may be called many times in one process, from any thread: streams, logging and signals are
    as before when it returns. Two calls at once take turns, as these belong to the process.
    """
    if arguments is None:
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
    given_words = sys.argv[1:] if arguments is None else list(arguments)
    own_words, output_style = _read_output_style(given_words)
    words, note = names.translate(own_words, tree.find_subcommands(own_words[:1]))
    try:
        with (
            _taking_turns,
            streams.guard_streams(),
            console.invocation(output_style, words),
            _logging(),
        ):
            _run(words, note)
    except SystemExit as end:
        is_judge = any(_begins_with(words, name.split()) for name in _JUDGES)
        if is_judge and "--bisect" in words and isinstance(end.code, int):
            stop_code = console.bisect_code(end.code)
            sys.exit(stop_code)
        raise


def _read_output_style(words: Sequence[str]) -> tuple[list[str], console.OutputStyle]:
    """Return a command line without the options of all commands, and the style that these choose.

    They may be anywhere before `--`. Errors are JSON if the command was to print JSON.
    """
    end = words.index("--") if "--" in words else len(words)
    own_words = [_SPELLINGS.get(word, word) for word in words[:end]]
    output_style = console.OutputStyle(
        is_quiet=not _QUIET.isdisjoint(own_words),
        is_verbose=not _VERBOSE.isdisjoint(own_words),
        is_json=not _JSON.isdisjoint(own_words),
    )
    kept_words = [word for word in own_words if word not in _QUIET | _VERBOSE]
    return [*kept_words, *words[end:]], output_style


def _run(words: Sequence[str], note: str) -> None:
    try:
        try:
            for word in words:
                _require_text(word)
            with _interruptible():
                if note:
                    sys.stderr.write(f"{note}\n")  # without rich, as for help
                command = application(words)  # sets no hook of Python
                command(words, prog_name="tracekit")
        except SystemExit as end:
            if isinstance(end.code, int):
                console.show_usage_error(end.code)
            raise
        finally:
            sys.stdout.flush()
    except TracekitError as error:
        failed = error
    except OSError as error:
        if error.errno not in _PLACES:
            _report_bug()
        from tracekit.base import files

        file_name = error.filename or "A file"
        message = f"{file_name}: {error.strerror}."
        hint = files.remedy(error)
        failed = RecordingError(message, hint=hint)
    except Exception:  # noqa: BLE001  whatever it is, it is ours, and its traceback is kept
        _report_bug()
    else:
        return
    console.show_error(failed.message, failed.hint, failed.exit_code)
    sys.exit(failed.exit_code)


def _require_text(argument: str) -> None:
    """Raise UsageError for bytes that are not text, which no JSON could hold."""
    is_surrogate = any("\ud800" <= letter <= "\udfff" for letter in argument)
    if is_surrogate:
        raise UsageError(f"{argument!r} is not UTF-8 text.", hint="Rename it, or link to it.")


class _Log(logging.Handler):
    """Shows log records as other warnings are shown."""

    def emit(self, record: logging.LogRecord) -> None:
        console.show_warnings([self.format(record)])


@contextmanager
def _logging() -> Generator[None]:
    """Show warnings that are logged, even if the calling program has handlers of its own."""
    root = logging.getLogger()
    handler = _Log(logging.WARNING)
    level = root.level
    root.setLevel(min(level, logging.WARNING))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _version(is_requested: bool) -> None:
    if is_requested:
        from tracekit.base import own_version

        typer.echo(f"tracekit {own_version()}")
        raise typer.Exit


def _global_options(
    *,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print results and errors alone; at any place of a command."
    ),
    verbose: bool = typer.Option(
        False, "--verbose", "-v", help="Print every remark, and the time of each stage."
    ),
) -> None:
    """Record, read and judge Metal traces."""
    del version, quiet, verbose  # read before anything else, wherever they are


def _report_bug() -> NoReturn:
    """Print the traceback, and that it is a bug of tracekit."""
    traceback.print_exc()
    sys.stderr.write("This is a bug of tracekit; the lines above say where.\n")
    message = f"This is a bug of tracekit: {sys.exc_info()[1]!r}"
    console.show_error_document(message, "The traceback is on stderr.", _OUR_BUG)
    sys.exit(_OUR_BUG)


@contextmanager
def _interruptible() -> Generator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt; afterwards they are as before.

    A shell makes programs in the background ignore SIGINT; then xctrace would ignore it too.
    `nohup` makes them ignore SIGHUP, which is respected. Only the main thread receives signals: in
    another one they stay as they are, and so does a handler that Python cannot restore, as that of
    an embedding program in C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former_handlers: dict[signal.Signals, Any] = {}
    for number in _STOPPING:
        handler = signal.getsignal(number)
        is_nohup = number.name == "SIGHUP" and handler == signal.SIG_IGN
        if handler is not None and not is_nohup:
            former_handlers[number] = handler
    for number in former_handlers:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in former_handlers.items():
            signal.signal(number, handler)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
