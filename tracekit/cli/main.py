"""The command line: its commands, and the words and exit codes of errors."""

import errno
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
    files,
    streams,
)
from tracekit.cli import (
    batch,
    bench,
    chip,
    compare,
    console,
    convert,
    doctor,
    gate,
    history,
    nightly,
    prune,
    query,
    show,
    stages,
    verify,
    whole,
)
from tracekit.cli.options import add_plan_options, named_workload

_OUR_BUG = 70
_STOPPING = [number for number in signal.Signals if number.name in {"SIGINT", "SIGTERM", "SIGHUP"}]
_taking_turns = threading.RLock()
_JUDGES = {"ab", "gate", "nightly"}  # commands that `git bisect run` may ask
_PLACES = {
    *(errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT, errno.EIO),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.EFBIG),
}


class _Root(typer.core.TyperGroup):
    """All commands; errors for which typer would exit with 1, a regression, have our codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with console.accounting():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "Interrupted.", hint="No file is half written; the same command begins again."
            ) from None
        except BrokenPipeError as error:
            raise ToolError("A program or service closed its connection.") from error
        except EOFError as error:
            raise RuntimeError("Something ended early.") from error


def application(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line, with the options of the workload that the arguments name."""
    help_settings = {"help_option_names": ["-h", "--help"]}
    app = typer.Typer(
        cls=_Root,
        no_args_is_help=True,
        # Plain help starts in a third of the time.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=help_settings,
    )
    workload = None
    if arguments and arguments[0] in {"capture", "record"}:
        workload = named_workload(arguments[1:])
    capture_command = add_plan_options(stages.capture, workload)
    app.command("capture")(capture_command)
    record_command = add_plan_options(stages.record, workload)
    app.command("record")(record_command)
    app.command("export")(stages.export)
    app.command("analyze")(stages.analyze)
    app.command("report")(stages.report)
    app.command("import")(stages.import_)
    app.command("recover")(stages.recover)
    app.command("tables")(show.tables)
    app.command("convert")(convert.convert)
    app.command("query")(query.query)
    app.command("batch")(batch.batch)
    app.command("compare")(compare.compare)
    app.command("ab", cls=compare.Sides)(compare.ab)
    app.command("gate")(gate.gate)
    app.command("index")(query.index)
    app.command("prune")(prune.prune)
    app.command("verify")(whole.verify)
    app.command("workloads")(show.workloads)
    app.command("rules")(show.rules)
    app.add_typer(doctor.app, name="templates")
    app.command("doctor")(doctor.doctor)
    app.command("chip")(chip.chip)
    app.command("open")(show.open_)
    app.command("bench")(bench.bench)
    app.command("parity")(verify.parity)
    app.add_typer(nightly.app, name="nightly")
    app.add_typer(history.app, name="history")
    app.add_typer(history.baseline_app, name="baseline")
    judged: Sequence[str] = []
    first_words = arguments[:1]
    if first_words == ["verify-kernel"]:
        judged = arguments[1:]
    app.command("verify-kernel")(verify.with_parameters(judged))
    app.callback()(_global_options)
    # At each start typer prepares all commands that it is given: the one that is named is enough.
    command_names = arguments[:1]
    commands = [entry for entry in app.registered_commands if entry.name in command_names]
    groups = [entry for entry in app.registered_groups if entry.name in command_names]
    if commands or groups:
        app.registered_commands = commands
        app.registered_groups = groups
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error that a user can act on is a sentence, not a traceback.

    It may be called many times in one process, from any thread: streams, logging and signals are
    as before when it returns. Two calls at once take turns, as these belong to the process.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with _taking_turns, streams.guard_streams(), console.invocation(), _logging():
            _run(arguments)
    except SystemExit as end:
        is_judge = bool(_JUDGES.intersection(arguments[:1]))
        if is_judge and "--bisect" in arguments and isinstance(end.code, int):
            stop_code = console.bisect_code(end.code)
            sys.exit(stop_code)
        raise


def _run(arguments: Sequence[str]) -> None:
    try:
        try:
            for argument in arguments:
                _require_text(argument)
            with _interruptible():
                words = nightly.with_command(arguments)
                command = typer.main.get_command(application(words))  # sets no hook of Python
                command(words, prog_name="tracekit")
        finally:
            sys.stdout.flush()
    except TracekitError as error:
        failed = error
    except OSError as error:
        if error.errno not in _PLACES:
            _report_bug()
        file_name = error.filename or "A file"
        message = f"{file_name}: {error.strerror}."
        hint = files.remedy(error)
        failed = RecordingError(message, hint=hint)
    except Exception:  # noqa: BLE001  whatever it is, it is ours, and its traceback is kept
        _report_bug()
    else:
        return
    console.show_error(failed.message, failed.hint)
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
) -> None:
    """Record, read and judge Metal traces."""


def _report_bug() -> NoReturn:
    """Print the traceback, and that it is a bug of tracekit."""
    traceback.print_exc()
    sys.stderr.write("This is a bug of tracekit; the lines above say where.\n")
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
