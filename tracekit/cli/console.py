"""All output for people: progress on stderr, results on stdout, exit codes. Nothing else prints."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from tracekit import analysis, record, tables
from tracekit.base import InputError, Recording, TracekitError, as_json, files, quote_path, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text


STDOUT = Path("-")
Words = str | tuple[str, str]  # a text, alone or with its style


_invocations: list[dict[bool, "Console"]] = []


@contextmanager
def invocation() -> Generator[None]:
    """Print everything of one command through consoles that end with it.

    A console keeps the text that a closed pipe did not take, the width of the terminal, and
    whether it shows colors: none of it may reach the next command of this process.
    """
    _invocations.append({})
    try:
        yield
    finally:
        _invocations.pop()


def screen(*, error: bool = False) -> "Console":
    """Return the console of standard output or of standard error; `--help` never loads rich.

    One command has one of each, since a spinner must know the text that is printed above it.
    """
    from rich.console import Console

    consoles = {}
    if _invocations:
        consoles = _invocations[-1]
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
        text.append(visible(words), part_style)
    return text


def show_text(*parts: Words, style: str = "") -> None:
    """Print parts of a text, each alone or with its style."""
    text = style_text(*parts, style=style)
    screen().print(text)


def _say(*parts: Words, style: str = "") -> None:
    """Print on standard error."""
    screen(error=True).print(style_text(*parts, style=style))


_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_VERDICTS = {
    "ok": "green",
    "warning": "bold yellow",
    "failed": "bold red",
    "not applicable": "dim",
    "unknown": "bold cyan",
}
_WIDEST = 30  # characters of a cell


@contextmanager
def progress(stage: str) -> "Generator[record.Progress]":
    """Show a stage while it runs, and its duration; print nothing unless stderr is a terminal.

    Other output is not redirected meanwhile: rich would carry out the sequences in it.
    """
    if not is_progress_shown():
        yield record.quiet
        return
    from rich.live import Live
    from rich.spinner import Spinner

    start_time = monotonic()
    err = screen(error=True)
    spinner = Spinner("dots", f"{stage} …", style="status.spinner")
    with Live(spinner, console=err, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield lambda text: spinner.update(text=style_text(f"{stage} · {text}"))
    elapsed_seconds = monotonic() - start_time
    elapsed_text = f"{elapsed_seconds:.1f} s"
    _say(("✓", "green"), f" {stage} ", (elapsed_text, "dim"))


def show(result: "analysis.Result", recording: Recording, *, json: bool = False) -> None:
    """Print the result: the numbers, the findings in words, and the paths of its files."""
    if json:
        show_json(result)
        return
    answer = analysis.answer_of(result)
    if answer:
        show_text((answer, "bold"))
    if result.findings:
        headline = analysis.headline(result.findings[0])
        show_text((headline, "bold"))
    if answer or result.findings:
        screen().print()
    numbers = analysis.numbers(result)
    width = max(map(len, numbers), default=0)
    for name, value in numbers.items():
        show_text(f"{name:<{width}}  ", (value, "bold"))
    _show_findings(result)
    _show_checks(result)
    _show_unfinished_stages(result)
    show_warnings(result.provenance.warnings)
    _show_paths(recording)


def _show_unfinished_stages(result: "analysis.Result") -> None:
    for name, stage in result.provenance.unfinished_stages.items():
        sentence = f"The stage {name} was not completed"
        if stage.state == "interrupted":
            sentence = f"The stage {name} was interrupted"
        if stage.state == "incomplete":
            show_warnings([f"{stage.message}."])
            continue
        message = "."
        if stage.message:
            message = f": {stage.message}"
        show_warnings([f"{sentence}{message}"])


def show_folders(recordings: Sequence[Recording], follow: str) -> None:
    """Print each run's folder, and the command that comes next."""
    for recording in recordings:
        show_line(recording.folder)
    for recording in recordings:
        show_next(follow, recording)


def show_next(command: str, recording: Recording) -> None:
    """Print the next command of a run on stderr."""
    folder_text = quote_path(recording.folder)
    show_hint(f"Go on with: tracekit {command} {folder_text}")


@contextmanager
def open_output(file: Path) -> Generator[BinaryIO]:
    """Open a file that is written as a whole or not at all, or stdout for `-`."""
    if file != STDOUT:
        with files.replacing(file) as opened:
            yield opened
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def show_written(path: Path) -> None:
    """Print the path of a written file on stderr, as stdout holds numbers."""
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
    """Print a value as indented JSON."""
    sys.stdout.write(as_json(value).decode())


def show_hint(hint: str) -> None:
    """Print advice on stderr."""
    _say(hint, style="dim")


def show_error(message: str, hint: str) -> None:
    """Print an error and its hint on stderr."""
    _say(("error: ", "bold red"), message)
    if hint:
        _say(("hint: ", "bold"), hint)


def show_diagnosis(diagnosis: "record.Diagnosis", *, json: bool = False) -> None:
    """Print the facts of the doctor, a row for each, with its fix below it."""
    if json:
        show_json(diagnosis.document())
        return
    name_lengths = [len(fact.name) for fact in diagnosis.facts]
    width = max(name_lengths)
    for fact in diagnosis.facts:
        verdict_text = f"{fact.verdict:<14}  "
        verdict = (verdict_text, _VERDICTS[fact.verdict])
        name_text = f"{fact.name:<{width}}  "
        show_text(verdict, (name_text, "bold"), fact.words)
        if fact.fix:
            show_text(f"{'':14}  {'':{width}}  → {fact.fix}", style="dim")


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on stderr, each one once; losses of this command come at its end."""
    later = set(tables.losses.list_reported_losses())
    for warning in dict.fromkeys(warnings):
        if warning not in later:
            _say(("warning: ", "yellow"), warning)


def measurements(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers below its title; a file or pipe keeps title and head as well."""
    if not looked_at():
        title = f"# {title}"
    show_text(title, style="dim")
    table(columns, rows, headed=True)
    screen().print()


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
    return screen().is_terminal


def is_progress_shown() -> bool:
    """Tell whether stderr is a terminal."""
    return screen(error=True).is_terminal


def _show_findings(result: "analysis.Result") -> None:
    screen().print()
    if not result.findings:
        show_text(analysis.silence(result))
    for finding in result.findings:
        head = (f"{finding.severity}", _STYLES[finding.severity])
        effects = ""
        if finding.effects:
            effects = f" (with {', '.join(finding.effects)})"
        show_text(head, "  ", (finding.rule, "bold"), effects)
        saving_text = analysis.describe_saving(finding)
        show_text(f"  {finding.message}{saving_text}")
        if finding.advice:
            show_text(f"  → {finding.advice}", style="dim")


def _show_checks(result: "analysis.Result") -> None:
    passed = [check.rule for check in result.checks if check.status is analysis.Status.PASSED]
    screen().print()
    show_text(f"passed       {', '.join(passed) or 'none'}")
    unanswered = (analysis.Status.ABSTAINED, analysis.Status.FAILED)
    for reason in analysis.reasons(result.checks, *unanswered):
        show_text("not checked  ", (_join_names(reason.rules), "bold"), ":")
        show_text(f"  {reason.words}", style="dim")


_FEW = 6


def _join_names(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first ones, and how many more there are."""
    if len(names) <= _FEW:
        return ", ".join(names)
    other_count = len(names) - _FEW + 1
    first_names = ", ".join(names[: _FEW - 1])
    return f"{first_names} and {other_count} more"


def _show_paths(recording: Recording) -> None:
    opener = "xdg-open"
    if sys.platform == "darwin":
        opener = "open"
    screen().print()
    show_text(f"folder       {recording.folder}")
    if recording.report_file.exists():
        show_text(f"page         {recording.report_file}")
        report_text = quote_path(recording.report_file)
        show_text(f"open it      {opener} {report_text}")
    if recording.bundle.exists():
        show_text(f"trace        {recording.bundle} (private: it names machine and user)")
        if sys.platform == "darwin":
            show_text(f"open it      open -a Instruments {quote_path(recording.bundle)}")


_STOP = 128


_MOST_COSTS = 6


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


def _show_losses(losses: "Iterable[tables.Loss]") -> None:
    for text in tables.losses.sentences(losses):
        _say(("warning: ", "yellow"), text)


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
