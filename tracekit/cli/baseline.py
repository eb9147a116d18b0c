"""`baseline`: what is expected of a capture from now on, said by a person, with a reason."""

from typing import Annotated

import typer

from tracekit.cli import histories

baseline_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Nights = Annotated[
    list[str],
    typer.Argument(
        metavar="NIGHT...",
        help="A night: its id, its beginning, latest, or its folder; several are taken together.",
    ),
]
Named = Annotated[
    list[str] | None,
    typer.Option("--capture", metavar="NAME", help="Only this one; may be given again."),
]


@baseline_app.callback()
def baseline() -> None:
    """Say what to expect of captures from now on."""


@baseline_app.command("accept")
def accept(
    nights: Nights,
    *,
    reason: histories.Reason,
    capture: Named = None,
    config: histories.Config = None,
    history: histories.History = "",
) -> None:
    """Expect from now on what a night found.

    Changes are judged from there on: a slowdown that was accepted is no regression any more, and
    what comes on top of it is one. Nothing is ever accepted silently, and the reason is kept.
    What an accepted night is off by, every later one is off by: nights of the same work may be
    taken together, so that they are off by less.
    """
    from tracekit.cli import console
    from tracekit.nightly.history.listing import expected_words
    from tracekit.nightly.history.store.store import Store

    with Store.open(histories.history_url(history, config), migrate=False) as store:
        histories.require_clear(store, nights)
        accepted, refused = store.accept(nights[0], capture or (), reason, others=nights[1:])
        found = store.night(accepted[0].night)
    columns = ("capture", "metric", "expected from now on")
    rows = [
        (one.capture, metric, expected_words(found, one, metric))
        for one in accepted
        for metric in one.changes
    ]
    console.measurements(f"Accepted: {found.id} on {found.machine}", columns, rows)
    console.show_warnings([f"Not accepted: {one.capture}: {one.reason}" for one in refused])
    console.show_hint("It holds for captures of the same work, from the next night on.")


@baseline_app.command("list")
def list_(
    *,
    config: histories.Config = None,
    history: histories.History = "",
    json: histories.Json = False,
) -> None:
    """List what was accepted, when and why; the last one of a capture holds."""
    from tracekit.base.units import stamp
    from tracekit.cli import console
    from tracekit.nightly.history.listing import held_on
    from tracekit.nightly.history.store.store import Store

    with Store.open(histories.history_url(history, config), migrate=False) as store:
        held = [one for name in store.machines() for one in held_on(name, store.acceptances(name))]
    held.sort(key=lambda one: one.accepted.at)
    if json:
        console.show_json(held)
        return
    columns = ("accepted", "night", "machine", "capture", "holds", "reason")
    rows = [
        (
            *(stamp(one.accepted.at), one.accepted.night, one.machine, one.accepted.capture),
            *("yes" if one.holds else "no", one.accepted.reason),
        )
        for one in held
    ]
    if not rows:
        console.show_hint("Nothing was accepted; `tracekit baseline accept NIGHT --reason TEXT`.")
    console.measurements(f"{len(held)} accepted", columns, rows)
