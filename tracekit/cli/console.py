"""What a person sees: progress on stderr, results on stdout, exit codes. Nothing else prints."""

import shlex
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import shorten
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from tracekit import analysis, record
from tracekit.base import (
    InconclusiveError,
    InputError,
    Recording,
    as_json,
    quoted,
    replacing,
    visible,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text

    from tracekit import nightly

STDOUT = Path("-")
Words = str | tuple[str, str]  # a text, alone or with its style


@cache
def screen(*, error: bool = False) -> "Console":
    """Return what prints on standard output, or on standard error; `--help` never loads rich."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, soft_wrap=True, markup=False, emoji=False)


def styled(*parts: Words, style: str = "") -> "Text":
    """Return parts of a text, each alone or with its style, as `visible` shows them."""
    from rich.text import Text

    pairs = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((visible(words), own) for words, own in pairs), style=style)


def _print(*parts: Words, style: str = "") -> None:
    screen().print(styled(*parts, style=style))


def _say(*parts: Words, style: str = "") -> None:
    """Print on standard error."""
    screen(error=True).print(styled(*parts, style=style))


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
    if not watched():
        yield record.quiet
        return
    from rich.live import Live
    from rich.spinner import Spinner

    began, err = monotonic(), screen(error=True)
    spinner = Spinner("dots", f"{stage} …", style="status.spinner")
    with Live(spinner, console=err, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield lambda text: spinner.update(text=styled(f"{stage} · {text}"))
    _say(("✓", "green"), f" {stage} ", (f"{monotonic() - began:.1f} s", "dim"))


def show(result: "analysis.Result", recording: Recording, *, json: bool = False) -> None:
    """Print the result: the numbers, the findings in words, and where everything is."""
    if json:
        show_json(result)
        return
    _show_metrics(result)
    _show_findings(result)
    _show_checks(result)
    for name, stage in result.provenance.unfinished.items():
        how = "was interrupted" if stage.state == "interrupted" else "was not completed"
        message = f": {stage.message}" if stage.message else "."
        show_warnings([f"The stage {name} {how}{message}"])
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


@contextmanager
def written(file: Path) -> Generator[BinaryIO]:
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


def show_gputrace(recording: Recording) -> None:
    """Print where a GPU frame capture is, how to open it, and what it does not tell."""
    show_file(recording.gputrace)
    show_hint(f"Open it in Xcode: open {shlex.quote(str(recording.gputrace))}")
    show_warnings(recording.provenance().warnings)


def show_line(line: str) -> None:
    """Print a command line."""
    sys.stdout.write(f"{line}\n")


def show_tables(tables: "Iterable[tuple[str, pd.DataFrame | str]]") -> None:
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


def show_frame(frame: "pd.DataFrame", rows: int) -> None:
    """Print the first rows of a table: folded to the terminal, tab-separated elsewhere."""
    shown = frame.head(rows)
    if looked_at():
        text = shown.to_string(line_width=screen().width, max_colwidth=_WIDEST, na_rep="")
        sys.stdout.write(f"{text}\n")
    else:
        shown.to_csv(sys.stdout, sep="\t", index=False)
    if len(frame) > rows:
        _say(f"{len(frame) - rows:,} more rows; --rows shows more.", style="dim")


def show_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(as_json(value).decode())


def show_hint(hint: str) -> None:
    """Print what to do next, on stderr."""
    _say(hint, style="dim")


def show_rule(rule: "analysis.Rule") -> None:
    """Print what a rule says of itself."""
    _print((rule.name, "bold"), f"  {rule.title}")
    for head, text in rule.sections.items():
        _print("\n", (head, "bold"), f"\n  {text}")


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
        _print(verdict, (f"{fact.name:<{width}}  ", "bold"), fact.words)
        if fact.fix:
            _print(f"{'':14}  {'':{width}}  → {fact.fix}", style="dim")


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on stderr, each one once."""
    for warning in dict.fromkeys(warnings):
        _say(("warning: ", "yellow"), warning)


def measurements(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers below its title; a file or pipe keeps title and head as well."""
    _print(f"# {title}" if not looked_at() else title, style="dim")
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
        grid.add_column(styled(column), overflow="fold")
    for row in rows:
        grid.add_row(*(styled(cell) for cell in row))
    screen().print(grid)


def looked_at() -> bool:
    """Tell whether stdout is a terminal, where somebody looks."""
    return screen().is_terminal


def watched() -> bool:
    """Tell whether stderr is a terminal, where progress is shown."""
    return screen(error=True).is_terminal


def _show_metrics(result: "analysis.Result") -> None:
    known = analysis.numbers(result)
    width = max(map(len, known), default=0)
    for name, value in known.items():
        _print(f"{name:<{width}}  ", (value, "bold"))


def _show_findings(result: "analysis.Result") -> None:
    screen().print()
    if not result.findings:
        _print(analysis.silence(result))
    for finding in result.findings:
        head = (f"{finding.severity}", _STYLES[finding.severity])
        _print(head, "  ", (finding.rule, "bold"))
        _print(f"  {finding.message}{analysis.worth(finding)}")
        _print(f"  → {finding.advice}", style="dim")


def _show_checks(result: "analysis.Result") -> None:
    passed = [check.rule for check in result.checks if check.status is analysis.Status.PASSED]
    screen().print()
    _print(f"passed       {', '.join(passed) or 'none'}")
    for reason in analysis.reasons(
        result.checks, analysis.Status.ABSTAINED, analysis.Status.FAILED
    ):
        _print("not checked  ", (_few(reason.rules), "bold"), ":")
        _print(f"  {reason.words}", style="dim")


_FEW = 6


def _few(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first ones, and how many more there are."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[: _FEW - 1])} and {len(names) - _FEW + 1} more"


def _show_paths(recording: Recording) -> None:
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    screen().print()
    _print(f"folder       {recording.folder}")
    if recording.report_file.exists():
        _print(f"page         {recording.report_file}")
        _print(f"open it      {opener} {quoted(recording.report_file)}")
    if recording.bundle.exists():
        _print(f"trace        {recording.bundle} (private: it names machine and user)")
        if sys.platform == "darwin":
            _print(f"open it      open -a Instruments {quoted(recording.bundle)}")


_GATE = "capture-empty"
_CODES = {"ok": 0, "regression": 1, "failed": 3, "inconclusive": 4, "unjudged": 4}
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


def require_whole(damage: Sequence[str]) -> None:
    """Raise InputError if the export was damaged; what could be read has been written."""
    if damage:
        raise InputError(" ".join(damage), hint="The rows before the damage were written.")


def require_tables(damage: Sequence[str]) -> None:
    """Raise InputError if tables were damaged; the others have been written."""
    if damage:
        raise InputError(" ".join(damage), hint="The other tables were written.")


def night_code(outcome: "nightly.Outcome | None") -> int:
    """Return the exit code of how a night ended; one that did not end has failed."""
    return _CODES[outcome or "failed"]


def bisect_code(code: int) -> int:
    """Return the exit code for `git bisect run` that an exit code of tracekit means.

    Git takes 0 for good, 1 to 127 for bad, 125 for a commit to skip, and stops at all from 128 on
    (git-bisect(1)). So 0 and 1 stay; what failed (3) or is inconclusive (4) is skipped; whatever
    is no word on the commit, as a wrong command line (2) or a bug of ours (70), stops it.
    """
    if code in {3, 4}:
        return 125
    return code if code in {0, 1, 125} or code >= _STOP else _STOP + code % _STOP
