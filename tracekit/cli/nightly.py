"""`nightly`: a plan's captures measured, judged and kept; beside it, who starts it by itself."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from tracekit.cli import scheduling

if TYPE_CHECKING:
    from tracekit.nightly.history.night import Night
    from tracekit.nightly.plan.plan import NightPlan

_COMMANDED = "tracekit.nightly.commanded"


class RunOrCommand(typer.core.TyperGroup):
    """A group that runs by itself, with an argument, unless the first word is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line: a command's, or those of the group itself."""
        commanded = bool(args) and args[0] in self.commands
        ctx.meta[_COMMANDED] = commanded
        ctx.allow_interspersed_args = not commanded
        ctx.allow_extra_args = commanded
        if not commanded and args and not Path(args[0]).exists():
            self._mistyped(ctx, args[0])
        return super().parse_args(ctx, args)

    def _mistyped(self, ctx: Any, word: str) -> None:
        """End with the command that was meant, where a first word looks like one."""
        if near := get_close_matches(word, self.commands, n=1):
            ctx.fail(f"There is no command or file {word!r}. Did you mean {near[0]}?")

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; a command takes no argument of the group."""
        commanded = ctx.meta.get(_COMMANDED, False)
        found = super().get_params(ctx)
        return [one for one in found if not commanded or one.param_type_name != "argument"]


app = typer.Typer(cls=RunOrCommand, rich_markup_mode=None, subcommand_metavar="| COMMAND [ARGS]...")
app.command("install")(scheduling.install)
app.command("status")(scheduling.status)
app.command("uninstall")(scheduling.uninstall)

Config = Annotated[
    Path | None,
    typer.Argument(
        metavar="CONFIG",
        help="The plan's file.  [default: the nearest tracekit.toml, or pyproject.toml that has "
        "one, from here upwards]",
        show_default=False,
    ),
]
Named = Annotated[
    list[str] | None,
    typer.Option("--capture", metavar="NAME", help="Only this one; may be given again."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would run, and how long; touch nothing.")
]
Init = Annotated[bool, typer.Option("--init", help="Write a tracekit.toml to begin with.")]
Bisect = Annotated[
    bool,
    typer.Option(
        "--bisect", help="Exit as `git bisect run` wants it: 125 for failed or inconclusive."
    ),
]
NoHistory = Annotated[bool, typer.Option("--no-history", help="Keep the night out of the history.")]
Json = Annotated[bool, typer.Option("--json", help="Print night.json instead of words.")]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the trend page when it is done.")]


@app.callback(invoke_without_command=True)
def nightly(
    context: typer.Context,
    *,
    config: Config = None,
    dry_run: DryRun = False,
    init: Init = False,
    capture: Named = None,
    bisect: Bisect = False,
    no_history: NoHistory = False,
    json: Json = False,
    open_page: OpenPage = False,
) -> None:
    """Measure a plan's captures against their references.

    Parity and checks come first. Then candidate and reference are measured in turns, pair by
    pair, on a machine whose state is looked at, and traced besides. A change is a regression if it
    is beyond the plan's threshold, significant, and found again by a second sitting.

    Exit code 0: nothing is worse; 1: a regression; 2: the plan or the command line is wrong; 3:
    something failed, as parity; 4: inconclusive, with the reason; 130: stopped.
    """
    if context.invoked_subcommand is not None:
        return
    del bisect  # the command line's end sees to it, whatever ends it
    from tracekit.nightly.plan.reading import read_plan
    from tracekit.nightly.plan.starter import write_starter

    if init:
        _show_starter(write_starter(config) if config else write_starter())
        return
    plan = read_plan(config)
    if dry_run:
        _rehearse(plan, capture or [], json=json)
    else:
        night = _run(plan, capture or [], keep=not no_history)
        _show(plan, night, json=json, open_page=open_page)


def _run(plan: "NightPlan", names: list[str], *, keep: bool) -> "Night":
    from tracekit.cli import console
    from tracekit.nightly.rehearsal import only
    from tracekit.nightly.run import run_night

    chosen = tuple(one.name for one in only(plan, names).captures) if names else None
    with console.progress("nightly") as progress:
        return run_night(plan, captures=chosen, keep=keep, progress=progress)


def _show(plan: "NightPlan", night: "Night", *, json: bool, open_page: bool) -> None:
    from tracekit.cli import console
    from tracekit.cli.outcome import night_code
    from tracekit.nightly import words
    from tracekit.nightly.folder import NightFolder

    folder = NightFolder(plan.output / night.id)
    if json:
        console.show_json(night)
    else:
        console.show_line(words.heading(night))
        console.table(("outcome", "what", "why"), words.verdicts(night))
        console.show_line("")
        for title, columns, rows in words.tables(night):
            console.measurements(title, columns, rows)
        for note in words.notes(night):
            console.show_hint(note)
        console.show_warnings(night.warnings)
        console.show_written(folder.document)
        if night.folder and folder.page.exists():
            console.show_hint(f"All nights on one page: {folder.page}")
    if open_page and folder.page.exists():
        typer.launch(folder.page.resolve().as_uri())
    raise typer.Exit(night_code(night.outcome))


def _rehearse(plan: "NightPlan", names: list[str], *, json: bool) -> None:
    from tracekit.base.errors import UsageError
    from tracekit.base.units import span
    from tracekit.cli import console
    from tracekit.nightly import rehearsal

    plan = rehearsal.only(plan, names) if names else plan
    seen = rehearsal.rehearse(plan)
    if json:
        console.show_json(seen)
    else:
        lasts = f"{span(seen.estimate.seconds)} … {span(seen.estimate.most)}"
        title = f"{plan.name}: {lasts} of {span(plan.budget)}"
        console.measurements(title, rehearsal.COLUMNS, rehearsal.rows(plan, seen.estimate))
        for sentence in (*seen.estimate.assumptions, *seen.remarks):
            console.show_hint(sentence)
    if seen.obstacles:
        raise UsageError("\n".join(seen.obstacles), hint="The night would fail there.")


def _show_starter(file: Path) -> None:
    from tracekit.cli import console

    console.show_file(file)
    console.show_hint("Change what it measures, then look: tracekit nightly --dry-run")
