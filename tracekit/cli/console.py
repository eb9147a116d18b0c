"""What a person sees: progress on stderr, results on stdout, exit codes. Nothing else prints."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from tracekit import analysis, record, tables
from tracekit.base import (
    InconclusiveError,
    InputError,
    Recording,
    TracekitError,
    as_json,
    quote_path,
    replacing,
    visible,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text


STDOUT = Path("-")
Words = str | tuple[str, str]  # a text, alone or with its style


_invocations: list[dict[bool, "Console"]] = []


@contextmanager
def invocation() -> Generator[None]:
    """Let everything that one command prints go through consoles that end with it.

    A console keeps what a closed pipe did not take, the width of the terminal, and whether it
    shows colors: none of it may reach the next command of this process.
    """
    _invocations.append({})
    try:
        yield
    finally:
        _invocations.pop()


def screen(*, error: bool = False) -> "Console":
    """Return what prints on standard output, or on standard error; `--help` never loads rich.

    One command has one of each, since a spinner must know what is printed above it.
    """
    from rich.console import Console

    consoles = _invocations[-1] if _invocations else {}
    if error not in consoles:
        consoles[error] = Console(
            stderr=error, highlight=False, soft_wrap=True, markup=False, emoji=False
        )
    return consoles[error]


def style_text(*parts: Words, style: str = "") -> "Text":
    """Return parts of a text, each alone or with its style, as `visible` shows them."""
    from rich.text import Text

    pairs = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(
        *((visible(words), part_style) for words, part_style in pairs), style=style
    )


def show_text(*parts: Words, style: str = "") -> None:
    """Print parts of a text, each alone or with its style."""
    screen().print(style_text(*parts, style=style))


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
    """Show a stage while it runs, and how long it took; say nothing where nobody looks.

    Other output is not redirected meanwhile: rich would carry out the sequences in it.
    """
    if not is_progress_shown():
        yield record.quiet
        return
    from rich.live import Live
    from rich.spinner import Spinner

    start_time, err = monotonic(), screen(error=True)
    spinner = Spinner("dots", f"{stage} …", style="status.spinner")
    with Live(spinner, console=err, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield lambda text: spinner.update(text=style_text(f"{stage} · {text}"))
    _say(("✓", "green"), f" {stage} ", (f"{monotonic() - start_time:.1f} s", "dim"))


def show(result: "analysis.Result", recording: Recording, *, json: bool = False) -> None:
    """Print the result: the numbers, the findings in words, and where everything is."""
    if json:
        show_json(result)
        return
    answer = analysis.answer_of(result)
    if answer:
        show_text((answer, "bold"))
    if result.findings:
        show_text((analysis.headline(result.findings[0]), "bold"))
    if answer or result.findings:
        screen().print()
    numbers = analysis.numbers(result)
    width = max(map(len, numbers), default=0)
    for name, value in numbers.items():
        show_text(f"{name:<{width}}  ", (value, "bold"))
    _show_findings(result)
    _show_checks(result)
    for name, stage in result.provenance.unfinished_stages.items():
        how = "was interrupted" if stage.state == "interrupted" else "was not completed"
        message = f": {stage.message}" if stage.message else "."
        show_warnings([f"The stage {name} {how}{message}"])
    show_warnings(result.provenance.warnings)
    _show_paths(recording)


def show_folders(recordings: Sequence[Recording], follow: str) -> None:
    """Print each run's folder, and the command that goes on."""
    for recording in recordings:
        show_line(recording.folder)
    for recording in recordings:
        show_next(follow, recording)


def show_next(command: str, recording: Recording) -> None:
    """Say on stderr which command goes on with a run."""
    show_hint(f"Go on with: tracekit {command} {quote_path(recording.folder)}")


@contextmanager
def open_output(file: Path) -> Generator[BinaryIO]:
    """Give what bytes are written into: a file that is complete or not there, or stdout for `-`."""
    if file != STDOUT:
        with replacing(file) as opened:
            yield opened
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def show_written(path: Path) -> None:
    """Say on stderr that a file was written, where stdout holds numbers."""
    _say(f"written: {path}")


def show_line(line: object) -> None:
    """Print a line, such as a file that was written or a command line."""
    sys.stdout.write(f"{line}\n")


def show_frame(frame: "pd.DataFrame", rows: int) -> None:
    """Print the first rows of a table: folded to the terminal, tab-separated elsewhere."""
    first_rows = frame.head(rows)
    if looked_at():
        text = first_rows.to_string(line_width=screen().width, max_colwidth=_WIDEST, na_rep="")
        sys.stdout.write(f"{text}\n")
    else:
        first_rows.to_csv(sys.stdout, sep="\t", index=False)
    if len(frame) > rows:
        _say(f"{len(frame) - rows:,} more rows; --rows shows more.", style="dim")


def show_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(as_json(value).decode())


def show_hint(hint: str) -> None:
    """Print what to do next, on stderr."""
    _say(hint, style="dim")


def show_error(message: str, hint: str) -> None:
    """Print an error and its hint on stderr."""
    _say(("error: ", "bold red"), message)
    if hint:
        _say(("hint: ", "bold"), hint)


def show_diagnosis(diagnosis: "record.Diagnosis", *, json: bool = False) -> None:
    """Print what the doctor found: a row a fact, its fix below it."""
    if json:
        show_json(diagnosis.document())
        return
    width = max(len(fact.name) for fact in diagnosis.facts)
    for fact in diagnosis.facts:
        verdict = (f"{fact.verdict:<14}  ", _VERDICTS[fact.verdict])
        show_text(verdict, (f"{fact.name:<{width}}  ", "bold"), fact.words)
        if fact.fix:
            show_text(f"{'':14}  {'':{width}}  → {fact.fix}", style="dim")


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on stderr, each one once; losses of this command come at its end."""
    later = set(tables.list_reported_losses())
    for warning in dict.fromkeys(warnings):
        if warning in later:
            continue
        _say(("warning: ", "yellow"), warning)


def measurements(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers below its title; a file or pipe keeps title and head as well."""
    show_text(f"# {title}" if not looked_at() else title, style="dim")
    table(columns, rows, headed=True)
    screen().print()


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, headed: bool = False) -> None:
    """Print a table; tab-separated where nobody looks, and without its head unless `headed`.

    In a terminal that is too narrow the widest columns are folded first.
    """
    if not looked_at():
        if headed:
            sys.stdout.write("\t".join(columns) + "\n")
        sys.stdout.writelines("\t".join(row) + "\n" for row in rows)
        return
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(style_text(column), overflow="fold")
    for row in rows:
        grid.add_row(*(style_text(cell) for cell in row))
    screen().print(grid)


def looked_at() -> bool:
    """Tell whether stdout is a terminal, where somebody looks."""
    return screen().is_terminal


def is_progress_shown() -> bool:
    """Tell whether stderr is a terminal, where progress is shown."""
    return screen(error=True).is_terminal


def _show_findings(result: "analysis.Result") -> None:
    screen().print()
    if not result.findings:
        show_text(analysis.silence(result))
    for finding in result.findings:
        head = (f"{finding.severity}", _STYLES[finding.severity])
        also = f" (with {', '.join(finding.effects)})" if finding.effects else ""
        show_text(head, "  ", (finding.rule, "bold"), also)
        show_text(f"  {finding.message}{analysis.describe_saving(finding)}")
        if finding.advice:
            show_text(f"  → {finding.advice}", style="dim")


def _show_checks(result: "analysis.Result") -> None:
    passed = [check.rule for check in result.checks if check.status is analysis.Status.PASSED]
    screen().print()
    show_text(f"passed       {', '.join(passed) or 'none'}")
    for reason in analysis.reasons(
        result.checks, analysis.Status.ABSTAINED, analysis.Status.FAILED
    ):
        show_text("not checked  ", (_join_names(reason.rules), "bold"), ":")
        show_text(f"  {reason.words}", style="dim")


_FEW = 6


def _join_names(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first ones, and how many more there are."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[: _FEW - 1])} and {len(names) - _FEW + 1} more"


def _show_paths(recording: Recording) -> None:
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    screen().print()
    show_text(f"folder       {recording.folder}")
    if recording.report_file.exists():
        show_text(f"page         {recording.report_file}")
        show_text(f"open it      {opener} {quote_path(recording.report_file)}")
    if recording.bundle.exists():
        show_text(f"trace        {recording.bundle} (private: it names machine and user)")
        if sys.platform == "darwin":
            show_text(f"open it      open -a Instruments {quote_path(recording.bundle)}")


_GATE = "capture-empty"
_STOP = 128


def require_rows(result: "analysis.Result") -> None:
    """Raise InconclusiveError if a recording of xctrace is not known to hold its target's work."""
    gate = next(check for check in result.checks if check.rule == _GATE)
    if gate.status is analysis.Status.FOUND:
        message = next(finding.message for finding in result.findings if finding.rule == _GATE)
        raise InconclusiveError(message, hint=f"`tracekit rules {_GATE}` says what to do.")
    if gate.status is not analysis.Status.PASSED and result.provenance.recorder == "xctrace":
        raise InconclusiveError(
            f"Whether the target's work was recorded cannot be said: {gate.reason}",
            hint="The warnings say what went wrong; `tracekit export` can be run again.",
        )


def require_target_rows(recording: Recording) -> None:
    """Raise InconclusiveError if it is known that a recording lacks its target's work.

    Where it is not known, nothing is raised: the analysis looks closer.
    """
    provenance = recording.provenance()
    if provenance.target_rows is False:
        numbers = ", ".join(str(target.pid) for target in provenance.targets)
        raise InconclusiveError(
            f"No GPU work of the target (process {numbers}) was recorded; the trace is kept.",
            hint="See whether the target was awake and used Metal; "
            f"`tracekit rules {_GATE}` says more.",
        )


_MOST_COSTS = 6


@contextmanager
def accounting() -> Generator[None]:
    """Tell what was lost of what a command reads, whatever path it takes through our code.

    Raise InputError if damage cost rows or names of what was asked for, after everything else was
    written. A command that fails by itself keeps its own error.
    """
    with tables.collecting() as ledger:
        try:
            yield
        except TracekitError as error:
            _show_losses(loss for loss in ledger.losses if str(loss) not in error.message)
            raise
        except BaseException:
            _show_losses(ledger.losses)
            raise
        costs = ledger.costs
        _show_losses(loss for loss in ledger.losses if loss not in costs)
    if costs:
        texts = tables.sentences(costs)
        more = f"{len(texts) - _MOST_COSTS:,} more losses." if len(texts) > _MOST_COSTS else ""
        message = " ".join([*texts[:_MOST_COSTS], more]).strip()
        raise InputError(message, hint="Everything else was read and written.")


def _show_losses(losses: "Iterable[tables.Loss]") -> None:
    for text in tables.sentences(losses):
        _say(("warning: ", "yellow"), text)


def bisect_code(code: int) -> int:
    """Return the exit code for `git bisect run` that an exit code of tracekit means.

    Git takes 0 for good, 1 to 127 for bad, 125 for a commit to skip, and stops at all from 128 on
    (git-bisect(1)). So 0 and 1 stay; what failed (3) or is inconclusive (4) is skipped; whatever
    is no word on the commit, as a wrong command line (2) or a bug of ours (70), stops it.
    """
    if code in {3, 4}:
        return 125
    return code if code in {0, 1, 125} or code >= _STOP else _STOP + code % _STOP
