"""`history`: nights and series, listed, drawn and exported; `history pin` and `unpin`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tracekit.cli import exporting, histories, options

if TYPE_CHECKING:
    from tracekit.nightly.history.store.store import Store

app = typer.Typer(rich_markup_mode=None)

Plan = Annotated[str | None, typer.Option(metavar="NAME", help="Only this plan.")]
Machine = Annotated[str | None, typer.Option(metavar="NAME", help="Only this machine.")]
Capture = Annotated[str | None, typer.Option(metavar="NAME", help="Only series of this capture.")]
Metric = Annotated[
    str | None, typer.Option(metavar="NAME|all", help="Show this metric in each night.")
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Nights from then on: 30d, 12w, 2026-03-01.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Nights before then.")]
Ended = Annotated[
    Literal["ok", "regression", "failed", "inconclusive"] | None,
    typer.Option("--outcome", help="List only nights that ended so."),
]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="List the last N nights.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the trend page.")]
What = Annotated[
    str,
    typer.Argument(metavar="NIGHT|DIR", help="A night, by its id or folder; or a run's folder."),
]


@app.callback(invoke_without_command=True)
def history(
    context: typer.Context,
    *,
    config: histories.Config = None,
    history: histories.History = "",
    plan: Plan = None,
    machine: Machine = None,
    capture: Capture = None,
    metric: Metric = None,
    since: Since = None,
    until: Until = None,
    ended: Ended = None,
    limit: Limit = 30,
    export: exporting.Export = None,
    kind: exporting.FormatName = "csv",
    samples: exporting.Samples = False,
    better: exporting.Better = "lower",
    html: Html = None,
    json: histories.Json = False,
    force: options.Force = False,
) -> None:
    """List nights, and metrics over nights.

    A line a night: how it ended, and the change that says most of it. With --metric its value in
    each night, beside the reference's of that night. --export and --html take all nights that are
    chosen, not only --limit of them.
    """
    if context.invoked_subcommand is not None:
        return
    from tracekit.base.outputs import writing
    from tracekit.compare.times import time_of
    from tracekit.nightly.history.store.place import file_of
    from tracekit.nightly.history.store.store import Store

    of: dict[str, Any] = {
        "plan": plan,
        "machine": machine,
        "since": time_of(since) if since else None,
        "until": time_of(until) if until else None,
    }
    named = {"capture": capture, "metric": None if metric == "all" else metric}
    chosen = exporting.Chosen(kind, better, samples=samples)
    exporting.require_sense(chosen, export)
    url = histories.history_url(history, config)
    files = [one for one in (export, html) if one and one != exporting.STDOUT]
    with (
        writing(files, [one for one in (config, file_of(url)) if one], force=force),
        Store.open(url, migrate=False) as store,
    ):
        if export is not None:
            exporting.write(store, of | named, export, chosen)
        if html is not None:
            _draw(store, url, of, named, html)
        if metric is not None and export is None and html is None:
            _show_series(store, of | named, limit, json=json)
        elif export is None and html is None:
            _show_nights(store, of, ended, limit, json=json)


@app.command("pin")
def pin(
    what: What,
    *,
    reason: histories.Reason,
    config: histories.Config = None,
    history: histories.History = "",
) -> None:
    """Keep a night, or a run, from being pruned."""
    from tracekit.cli import console
    from tracekit.nightly.history.store.store import Store

    with Store.open(histories.history_url(history, config)) as store:
        histories.require_clear(store, [what])
        console.show_line(store.pin(what, reason))


@app.command("unpin")
def unpin(
    what: What,
    *,
    reason: histories.Reason = "",
    config: histories.Config = None,
    history: histories.History = "",
) -> None:
    """Let a night, or a run, be pruned again."""
    from tracekit.cli import console
    from tracekit.nightly.history.store.store import Store

    with Store.open(histories.history_url(history, config), migrate=False) as store:
        histories.require_clear(store, [what])
        console.show_line(store.unpin(what, reason))


def _show_nights(
    store: "Store", of: dict[str, Any], ended: str | None, limit: int, *, json: bool
) -> None:
    from tracekit.cli import console
    from tracekit.nightly.history.listing import line, missed_among, table_of
    from tracekit.nightly.history.night import Outcome

    outcome = Outcome(ended) if ended else None
    lines = [line(one) for one in store.nights(**of, outcome=outcome, limit=limit)]
    missed = [] if ended else missed_among(store.missed_nights(), lines, limit, **of)
    if json:
        console.show_json({"nights": lines, "missed": missed})
        return
    console.measurements(
        f"{len(lines)} night{'' if len(lines) == 1 else 's'}",
        *table_of(lines, missed, store.pinned(), whole=not console.looked_at()),
    )


def _show_series(store: "Store", of: dict[str, Any], limit: int, *, json: bool) -> None:
    from dataclasses import replace

    from tracekit.cli import console
    from tracekit.nightly.history.listing import series_table

    found = [replace(one, points=one.points[-limit:]) for one in exporting.known_series(store, of)]
    if json:
        console.show_json(found)
        return
    named = [one for one in found if of["metric"] or any(each.pairs for each in one.points)]
    for one in named:
        console.measurements(*series_table(one, whole=not console.looked_at()))
    if blank := [f"{one.capture} {one.metric}" for one in found if one not in named]:
        console.show_hint(f"No night has a value of: {', '.join(blank)}.")


def _draw(store: "Store", url: str, of: dict[str, Any], named: dict[str, Any], page: Path) -> None:
    from tracekit.base.recording import now, write_whole
    from tracekit.base.redaction import redaction
    from tracekit.cli import console
    from tracekit.nightly.history.store.place import folder_of
    from tracekit.nightly.trend.page import render_trend
    from tracekit.nightly.trend.reports import links_from

    # A server's history has folders of any machine; those that are not here are not linked.
    folder = folder_of(url) or Path()
    html = render_trend(
        exporting.known_series(store, of | named),
        store.nights(**of),
        store.acceptances(),
        missed=[one for one in store.missed_nights() if of["plan"] in {None, one.plan}],
        now=now(),
        redact=redaction(),
        links=links_from(page.resolve().parent, folder),
    )
    write_whole(page, html.encode())
    console.show_written(page)
