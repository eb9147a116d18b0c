"""What a person sees: progress on stderr, results on stdout. Nothing else prints."""

import shlex
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from time import monotonic

import msgspec
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracekit.analysis.reasons import reasons
from tracekit.analysis.result import Result, Status
from tracekit.analysis.rule import Rule
from tracekit.analysis.summary import numbers, silence, worth
from tracekit.doctor.diagnosis import Diagnosis
from tracekit.doctor.matrix import MATRIX_COLUMNS, matrix_rows
from tracekit.folding import rigid
from tracekit.recorder import Progress, quiet
from tracekit.recording import Recording, quoted

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_VERDICTS = {
    "ok": "green",
    "warning": "bold yellow",
    "failed": "bold red",
    "not applicable": "dim",
    "unknown": "bold cyan",
}
_WIDEST = 30  # characters of a cell

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress(stage: str) -> Generator[Progress]:
    """Show a stage while it runs, and how long it took; say nothing where nobody looks."""
    if not _err.is_terminal:
        yield quiet
        return
    began = monotonic()
    with _err.status(f"{stage} …") as status:
        yield lambda text: status.update(Text(f"{stage} · {text}"))
    _err.print(f"[green]✓[/green] {stage} [dim]{monotonic() - began:.1f} s[/dim]")


def show(result: Result, recording: Recording, *, json: bool = False) -> None:
    """Print the result: the numbers, the findings in words, and where everything is."""
    if json:
        show_json(result)
        return
    _show_metrics(result)
    _show_findings(result)
    _show_checks(result)
    for name, stage in result.provenance.unfinished.items():
        how = "was interrupted" if stage.state == "interrupted" else "was not completed"
        told = f": {stage.message}" if stage.message else "."
        show_warnings([f"The stage {name} {how}{told}"])
    show_warnings(result.provenance.warnings)
    _show_paths(recording)


def show_folders(recordings: Sequence[Recording], follow: str) -> None:
    """Print each run's folder, and the command that goes on."""
    for recording in recordings:
        sys.stdout.write(f"{recording.folder}\n")
    for recording in recordings:
        show_next(follow, recording)


def show_next(command: str, recording: Recording) -> None:
    """Say on stderr which command goes on with a run."""
    show_hint(f"Go on with: tracekit {command} {quoted(recording.folder)}")


def show_file(path: Path) -> None:
    """Print a file that was written."""
    sys.stdout.write(f"{path}\n")


def show_written(path: Path) -> None:
    """Say on stderr that a file was written, where stdout holds numbers."""
    _err.print(Text(f"written: {path}"))


def show_gputrace(recording: Recording) -> None:
    """Print where a GPU frame capture is, how to open it, and what it does not tell."""
    show_file(recording.gputrace)
    show_hint(f"Open it in Xcode: open {shlex.quote(str(recording.gputrace))}")
    show_warnings(recording.provenance().warnings)


def show_line(line: str) -> None:
    """Print a command line."""
    sys.stdout.write(f"{line}\n")


def show_tables(tables: Iterable[tuple[str, pd.DataFrame | str]]) -> None:
    """Print the tables that a run has, with their rows and columns, or why one is not there."""
    rows = [
        (name, "", found)
        if isinstance(found, str)
        else (
            name,
            f"{len(found):,}",
            shorten(", ".join(found.columns), 600, placeholder=" …"),
        )
        for name, found in tables
    ]
    table(("table", "rows", "columns"), rows)


def show_frame(frame: pd.DataFrame, rows: int) -> None:
    """Print the first rows of a table: folded to the terminal, tab-separated elsewhere."""
    shown = frame.head(rows)
    if _out.is_terminal:
        text = shown.to_string(line_width=_out.width, max_colwidth=_WIDEST, na_rep="")
        sys.stdout.write(f"{text}\n")
    else:
        shown.to_csv(sys.stdout, sep="\t", index=False)
    if len(frame) > rows:
        _err.print(Text(f"{len(frame) - rows:,} more rows; --rows shows more.", style="dim"))


def show_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def show_hint(hint: str) -> None:
    """Print what to do next, on stderr."""
    _err.print(Text(hint, style="dim"))


def show_rule(rule: Rule) -> None:
    """Print what a rule says of itself."""
    _out.print(Text.assemble((rule.name, "bold"), f"  {rule.title}"))
    for head, text in rule.sections.items():
        _out.print(Text.assemble("\n", (head, "bold"), f"\n  {text}"))


def show_error(message: str, hint: str) -> None:
    """Print an error and its hint on stderr."""
    _err.print(Text.assemble(("error: ", "bold red"), message))
    if hint:
        _err.print(Text.assemble(("hint: ", "bold"), hint))


def show_diagnosis(diagnosis: Diagnosis, *, json: bool = False) -> None:
    """Print what the doctor found: a row a fact, its fix below it, then the matrix."""
    if json:
        show_json(diagnosis.document())
        return
    width = max(len(fact.name) for fact in diagnosis.facts)
    for fact in diagnosis.facts:
        verdict = (f"{fact.verdict:<14}  ", _VERDICTS[fact.verdict])
        _out.print(Text.assemble(verdict, (f"{fact.name:<{width}}  ", "bold"), fact.words))
        if fact.fix:
            _out.print(Text(f"{'':14}  {'':{width}}  → {fact.fix}", style="dim"))
    if diagnosis.capabilities is not None:
        _out.print()
        table(MATRIX_COLUMNS, matrix_rows(diagnosis.capabilities))


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on stderr, each one once."""
    for warning in dict.fromkeys(warnings):
        _err.print(Text.assemble(("warning: ", "yellow"), warning))


def measurements(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers below its title; a file or pipe keeps title and head as well."""
    _out.print(Text(f"# {title}" if not _out.is_terminal else title, style="dim"))
    table(columns, rows, headed=True)
    _out.print()


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, headed: bool = False) -> None:
    """Print a table; tab-separated where nobody looks, and without its head unless `headed`.

    In a terminal that is too narrow the widest columns are folded, and no others.
    """
    if not _out.is_terminal:
        if headed:
            sys.stdout.write("\t".join(columns) + "\n")
        sys.stdout.writelines("\t".join(row) + "\n" for row in rows)
        return
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column, stiff in zip(columns, rigid(columns, rows, _out.width), strict=True):
        grid.add_column(column, no_wrap=stiff, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    _out.print(grid)


def looked_at() -> bool:
    """Tell whether stdout is a terminal, where somebody looks."""
    return _out.is_terminal


def watched() -> bool:
    """Tell whether stderr is a terminal, where progress is shown."""
    return _err.is_terminal


def _show_metrics(result: Result) -> None:
    known = numbers(result)
    width = max(map(len, known), default=0)
    for name, value in known.items():
        _out.print(Text.assemble(f"{name:<{width}}  ", (value, "bold")))


def _show_findings(result: Result) -> None:
    _out.print()
    if not result.findings:
        _out.print(silence(result))
    for finding in result.findings:
        head = (f"{finding.severity}", _STYLES[finding.severity])
        _out.print(Text.assemble(head, "  ", (finding.rule, "bold")))
        _out.print(Text(f"  {finding.message}{worth(finding)}"))
        _out.print(Text(f"  → {finding.advice}", style="dim"))


def _show_checks(result: Result) -> None:
    passed = [one.rule for one in result.checks if one.status is Status.PASSED]
    _out.print()
    _out.print(Text(f"passed       {', '.join(passed) or 'none'}"))
    for reason in reasons(result.checks, Status.ABSTAINED, Status.FAILED):
        _out.print(Text.assemble("not checked  ", (", ".join(reason.rules), "bold"), ":"))
        _out.print(Text(f"  {reason.words}", style="dim"))


def _show_paths(recording: Recording) -> None:
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    _out.print()
    _out.print(Text(f"folder       {recording.folder}"))
    if recording.report_file.exists():
        _out.print(Text(f"page         {recording.report_file}"))
        _out.print(Text(f"open it      {opener} {quoted(recording.report_file)}"))
    if recording.bundle.exists():
        _out.print(Text(f"trace        {recording.bundle} (private: it names machine and user)"))
        if sys.platform == "darwin":
            _out.print(Text(f"open it      open -a Instruments {quoted(recording.bundle)}"))
