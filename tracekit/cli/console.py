"""All output for people: progress on stderr, results on stdout, exit codes. Nothing else prints.

Each start imports this module: the functions that need documents and files import them.
"""

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from tracekit import record, tables
from tracekit.base import InputError, TracekitError, streams

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text

    from tracekit.base import Recording


STDOUT = Path("-")


@dataclass(frozen=True)
class ErrorDocument:
    """An error as JSON: the event, the remedy, and the exit code."""

    error: str
    hint: str
    code: int
    format: int = 1


Words = str | tuple[str, str]  # a text, alone or with its style


@dataclass(frozen=True)
class OutputStyle:
    """The choices for all output: results and errors alone, every remark, errors as JSON."""

    is_quiet: bool = False
    is_verbose: bool = False
    is_json: bool = False


@dataclass
class _Invocation:
    """The consoles of one command, the remarks that wait for its end, and its documents."""

    output_style: OutputStyle = OutputStyle()
    consoles: "dict[bool, Console]" = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    has_document: bool = False
    usage_error: str = ""
    words: tuple[str, ...] = ()
    duration: "_Duration | None" = None


@dataclass
class _Duration:
    """The time of a command: when its first stage began, and how long it is expected to take.

    `is_complete` tells whether all stages so far ended by themselves.
    """

    start_time: float
    expected_seconds: float | None
    is_complete: bool = True


_invocations: list[_Invocation] = []
_WHOLE = frozenset({None, 0, 1, 4})  # exit codes of commands that did all of their work


@contextmanager
def invocation(output_style: OutputStyle, words: Sequence[str] = ()) -> Generator[None]:
    """Print everything of one command, by its words, through consoles that end with it.

    A console keeps the text that a closed pipe did not take, the width of the terminal, and
    whether it shows colors: none of it may reach the next command of this process.
    """
    current = _Invocation(output_style, words=tuple(words))
    _invocations.append(current)
    has_ended_well = True
    try:
        yield
    except SystemExit as end:
        has_ended_well = end.code in _WHOLE
        raise
    except BaseException:
        has_ended_well = False
        raise
    finally:
        _invocations.pop()
        is_whole = current.duration is not None and current.duration.is_complete
        if current.duration is not None and is_whole and has_ended_well:
            from tracekit.cli import durations

            durations.keep_seconds(current.words, monotonic() - current.duration.start_time)


def _current() -> _Invocation:
    """Return the state of the command that runs, or a new one outside of a command."""
    if _invocations:
        return _invocations[-1]
    return _Invocation()


def screen(*, error: bool = False) -> "Console":
    """Return the console of standard output or of standard error.

    `--help` never loads rich, and neither does a command in a pipe.

    One command has one of each, since a spinner must know the text that is printed above it.
    """
    from rich.console import Console

    consoles = _current().consoles
    if error not in consoles:
        consoles[error] = Console(
            stderr=error, highlight=False, soft_wrap=True, markup=False, emoji=False
        )
    return consoles[error]


def style_text(*parts: Words, style: str = "") -> "Text":
    """Return parts of a text, each alone or with its style, as `visible` shows them."""
    from rich.text import Text

    text = Text(style=style)
    for part in parts:
        words, part_style = (part, "") if isinstance(part, str) else part
        text.append(streams.visible(words), part_style)
    return text


def show_text(*parts: Words, style: str = "") -> None:
    """Print parts of a text, each alone or with its style."""
    _print(parts, style, error=False)


def _say(*parts: Words, style: str = "") -> None:
    """Print on standard error."""
    _print(parts, style, error=True)


def _print(parts: Sequence[Words], style: str, *, error: bool) -> None:
    if not _is_plain(error=error):
        screen(error=error).print(style_text(*parts, style=style))
        return
    words = [part if isinstance(part, str) else part[0] for part in parts]
    stream = sys.stderr if error else sys.stdout
    stream.write("".join(map(streams.visible, words)) + "\n")


def _is_plain(*, error: bool) -> bool:
    """Tell whether a stream is certainly no terminal, which needs no import of rich.

    These variables make rich take a pipe for one.
    """
    if os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"):
        return False
    stream = sys.stderr if error else sys.stdout
    return not stream.isatty()


_WIDEST = 30  # characters of a cell


def announce(plan: str, seconds: float | None = None) -> None:
    """Say first how long the command takes: as its last runs in this folder did, or as planned.

    `plan` are words on the planned time, which are used if no earlier run is known; `seconds` is
    that time, as far as it is known.
    """
    from tracekit.base import units
    from tracekit.cli import durations

    current = _current()
    if current.duration is not None:
        return
    earlier_seconds = durations.expect_seconds(current.words)
    current.duration = _Duration(monotonic(), earlier_seconds or seconds)
    if current.output_style.is_quiet:
        return
    if earlier_seconds is not None:
        _say(f"about {units.span(earlier_seconds)}, as before", style="dim")
    elif plan:
        _say(plan, style="dim")


@contextmanager
def progress(stage: str) -> "Generator[record.Progress]":
    """Show a stage while it runs, with the time that is left if it is known, and its duration.

    On a terminal it is a line that changes. In a pipe, a stage of a command that was announced is a
    line at its end, and one that lasts long says after 10 s, 20 s, 40 s and so on how far it is.
    Other output is not redirected meanwhile: rich would carry out the sequences in it.
    """
    announce("")
    duration = _current().duration
    if duration is None:  # outside of a command
        yield record.quiet
        return
    was_complete = duration.is_complete
    duration.is_complete = False
    start_time = monotonic()
    if is_progress_shown():
        from tracekit.cli import stage_line

        line = stage_line.StageLine(stage, duration.start_time, duration.expected_seconds)
        with stage_line.show(line, screen(error=True)):
            yield line.update
        elapsed_text = f"{monotonic() - start_time:.1f} s"
        _say(("✓", "green"), f" {stage} ", (elapsed_text, "dim"))
    else:
        is_quiet = _current().output_style.is_quiet
        yield record.quiet if is_quiet else _report_rarely(stage)
        is_announced = duration.expected_seconds is not None and not is_quiet
        if is_announced or _current().output_style.is_verbose:
            _say(f"{stage}: {monotonic() - start_time:.1f} s")
    duration.is_complete = was_complete


_FIRST_REPORT = 10.0  # seconds of a stage


def _report_rarely(stage: str) -> "record.Progress":
    """Return a progress that prints its words after 10 s, 20 s, 40 s and so on."""
    start_time = monotonic()
    pause = _FIRST_REPORT

    def report(words: str) -> None:
        nonlocal pause
        elapsed_seconds = monotonic() - start_time
        if elapsed_seconds >= pause:
            _say(f"{stage}: {words} ({elapsed_seconds:.0f} s)")
            while pause <= elapsed_seconds:
                pause *= 2

    return report


def show_folders(
    recordings: "Sequence[Recording]", follow: str, warnings: Sequence[str], *, json: bool
) -> None:
    """Print each run's folder, the command that comes next, and remarks on the recordings."""
    if json:
        from tracekit.cli import answers

        folders = tuple(str(recording.folder) for recording in recordings)
        show_json(answers.RunFolders(folders, f"tracekit {follow}", tuple(warnings)))
        return
    show_remarks(warnings)
    for recording in recordings:
        show_line(recording.folder)
    for recording in recordings:
        show_next(follow, recording)


def show_files(paths: Sequence[Path], warnings: Sequence[str] = (), *, json: bool) -> None:
    """Print the paths of written files on stdout, and remarks on their content."""
    if json:
        from tracekit.cli import answers

        show_json(answers.WrittenFiles(tuple(map(str, paths)), tuple(warnings)))
        return
    for file in paths:
        show_line(file)
    show_remarks(warnings)


def show_next(command: str, recording: "Recording") -> None:
    """Print the next command of a run on stderr."""
    from tracekit.base import files

    folder_text = files.quote_path(recording.folder)
    show_hint(f"Go on with: tracekit {command} {folder_text}")


@contextmanager
def open_output(file: Path) -> Generator[BinaryIO]:
    """Open a file that is written as a whole or not at all, or stdout for `-`."""
    if file != STDOUT:
        from tracekit.base import files

        with files.replacing(file) as opened:
            yield opened
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def show_written(path: Path) -> None:
    """Print the path of a written file on stderr, as stdout holds numbers."""
    if not _current().output_style.is_quiet:
        _say(f"written: {path}")


def show_line(line: object) -> None:
    """Print a line, such as a file that was written or a command line."""
    sys.stdout.write(f"{line}\n")


def show_frame(frame: "pd.DataFrame", rows: int) -> None:
    """Print the first rows of a table: folded to the terminal, tab-separated elsewhere."""
    first_rows = frame.head(rows)
    if looked_at():
        width = screen().width
        text = first_rows.to_string(line_width=width, max_colwidth=_WIDEST, na_rep="")
        sys.stdout.write(f"{text}\n")
    else:
        first_rows.to_csv(sys.stdout, sep="\t", index=False)
    if len(frame) > rows:
        hidden_count = len(frame) - rows
        _say(f"{hidden_count:,} more rows; --rows shows more.", style="dim")


def show_json(value: object) -> None:
    """Print a document as indented JSON; it has a `format`, which is 1 unless it says another."""
    from msgspec import to_builtins

    from tracekit.base import documents

    document = value
    if not hasattr(value, "format"):
        fields = to_builtins(value, enc_hook=str)
        document = {"format": 1, **fields}
    _current().has_document = True
    sys.stdout.write(documents.encode_json(document).decode())


def show_summary(summary: object) -> None:
    """Print a summary as JSON on one line."""
    _current().has_document = True
    import msgspec

    sys.stdout.write(f"{msgspec.json.encode(summary).decode()}\n")


def show_hint(hint: str) -> None:
    """Print advice on stderr, unless the command is quiet."""
    if not _current().output_style.is_quiet:
        _say(hint, style="dim")


def show_error(message: str, hint: str, code: int) -> None:
    """Print an error and its hint on stderr; with --json also as a document on stdout."""
    _say(("error: ", "bold red"), message)
    if hint:
        _say(("hint: ", "bold"), hint)
    show_error_document(message, hint, code)


def show_error_document(message: str, hint: str, code: int) -> None:
    """Print an error as JSON on stdout, if JSON was asked for and no document was printed."""
    state = _current()
    if state.output_style.is_json and not state.has_document:
        show_json(ErrorDocument(message, hint, code))


def note_usage_error(message: str) -> None:
    """Keep the words of an error in the command line, which typer itself prints."""
    _current().usage_error = message


def show_usage_error(code: int) -> None:
    """Print the kept words as JSON, if JSON was asked for."""
    message = _current().usage_error
    if message:
        show_error_document(message, "", code)


def show_remarks(remarks: Iterable[str]) -> None:
    """Print remarks on a recording at the end of the command: each one once, many as one line."""
    later = set(tables.losses.list_reported_losses())
    _current().remarks.extend(remark for remark in remarks if remark not in later)


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on stderr, each one once; losses of this command come at its end."""
    later = set(tables.losses.list_reported_losses())
    for warning in dict.fromkeys(warnings):
        if warning not in later:
            _say(("warning: ", "yellow"), warning)


def show_named_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Print lines, each with the word that goes before it."""
    width = max(len(name) for name, _ in lines)
    for name, words in lines:
        show_text((f"{name:<{width}}  ", "bold"), words)


def measurements(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers below its title; a file or pipe keeps title and head as well."""
    if not looked_at():
        title = f"# {title}"
    show_text(title, style="dim")
    table(columns, rows, headed=True)
    show_text()


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, headed: bool = False) -> None:
    """Print a table; in a file or pipe tab-separated, and without its head unless `headed`.

    In a terminal that is too narrow the widest columns are folded first.
    """
    if not looked_at():
        if headed:
            header = "\t".join(columns) + "\n"
            sys.stdout.write(header)
        lines = ("\t".join(row) + "\n" for row in rows)
        sys.stdout.writelines(lines)
        return
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(style_text(column), overflow="fold")
    for row in rows:
        cells = [style_text(cell) for cell in row]
        grid.add_row(*cells)
    screen().print(grid)


def looked_at() -> bool:
    """Tell whether stdout is a terminal."""
    return not _is_plain(error=False) and screen().is_terminal


def is_progress_shown() -> bool:
    """Tell whether stderr is a terminal, and the command is not quiet."""
    if _current().output_style.is_quiet:
        return False
    return not _is_plain(error=True) and screen(error=True).is_terminal


_MOST_COSTS = 6  # losses that an error names


@contextmanager
def accounting() -> Generator[None]:
    """Report the losses of everything that a command reads.

    A command that fails by itself keeps its own error.

    Raises:
        InputError: Damage cost rows or names; everything else was written.
    """
    with tables.losses.collecting() as ledger:
        try:
            yield
        except TracekitError as error:
            unmentioned = [loss for loss in ledger.losses if str(loss) not in error.message]
            _show_losses(unmentioned)
            raise
        except BaseException:
            _show_losses(ledger.losses)
            raise
        costs = ledger.costs
        harmless = [loss for loss in ledger.losses if loss not in costs]
        _show_losses(harmless)
    if costs:
        texts = tables.losses.sentences(costs)
        sentences = list(texts[:_MOST_COSTS])
        if len(texts) > _MOST_COSTS:
            hidden_count = len(texts) - _MOST_COSTS
            sentences.append(f"{hidden_count:,} more losses.")
        message = " ".join(sentences).strip()
        raise InputError(message, hint="Everything else was read and written.")


_MOST_REMARKS = 2  # more of them become one line
_WIDEST_REMARK = 120  # characters


def _show_losses(losses: "Iterable[tables.Loss]") -> None:
    """Print losses that cost no rows, and the remarks on the recording."""
    state = _current()
    if state.output_style.is_quiet:
        return
    texts = list(dict.fromkeys((*state.remarks, *tables.losses.sentences(losses))))
    state.remarks.clear()
    if len(texts) > _MOST_REMARKS and not state.output_style.is_verbose:
        first_text = shorten(texts[0], _WIDEST_REMARK, placeholder=" …")
        texts = [f"{first_text} And {len(texts) - 1} more remarks; --verbose shows them."]
    for text in texts:
        _say(("warning: ", "yellow"), text)


_STOP = 128  # exit codes from which `git bisect run` stops


def bisect_code(code: int) -> int:
    """Return the exit code for `git bisect run` that an exit code of tracekit means.

    Git takes 0 for good, 1 to 127 for bad, 125 for a commit to skip, and stops at 128 and more
    (git-bisect(1)). So 0 and 1 stay; a failure (3) or an inconclusive result (4) is skipped; a
    code that is not about the commit, as of a wrong command line (2) or a bug (70), stops it.
    """
    if code in {3, 4}:
        return 125
    if code in {0, 1, 125} or code >= _STOP:
        return code
    return _STOP + code % _STOP
