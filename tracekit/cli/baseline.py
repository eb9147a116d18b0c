"""`nightly baseline`: changes of nights that are accepted as expected."""

import getpass
from contextlib import suppress
from itertools import chain
from typing import Annotated

import typer

from tracekit import nightly
from tracekit.base import paired, units
from tracekit.cli import answers, console, options
from tracekit.cli.opened_history import Config, History, Reason, open_history
from tracekit.cli.options import argument, option

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


By = Annotated[str, option("NAME", "Who decides it.  [default: your login]")]


def _login() -> str:
    """Return the login of the user; empty if the system knows none."""
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""


@app.callback()
def baseline() -> None:
    """Accept the change that a night found as expected."""


Nights = Annotated[
    list[str],
    argument(
        "NIGHT...",
        "A night: its id or the beginning of it, latest, or its folder; several are pooled.",
    ),
]


@app.command("accept")
def accept(
    nights: Nights,
    *,
    reason: Reason,
    by: By = "",
    capture: options.Captures = None,
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """From now on, expect the change that a night found.

    Later nights are judged against the accepted change: an accepted slowdown is no longer a
    regression, and a further one is. A reason is required, and kept. Any error of the accepted
    night affects all later ones; accept several nights of the same work together to make it
    smaller.
    """
    with open_history(history, config, *nights) as store:
        accepted_captures = capture or ()
        other_nights = nights[1:]
        least_pairs = paired.least_pairs()
        who = by or _login()
        accepted, refused = store.accept(
            nights[0],
            accepted_captures,
            reason,
            others=other_nights,
            least=least_pairs,
            who=who,
        )
        night = store.night(accepted[0].night)
    columns = ("capture", "metric", "expected from now on")
    rows: list[tuple[str, str, str]] = []
    for acceptance in accepted:
        for metric in acceptance.changes:
            expected = nightly.listing.expected_words(night, acceptance, metric)
            rows.append((acceptance.capture, metric, expected))
    if json:
        changes = tuple(answers.ExpectedChange(*row) for row in rows)
        reasons = {refusal.capture: refusal.reason for refusal in refused}
        document = answers.AcceptedNight(night.id, night.machine, changes, reasons)
        console.show_json(document)
        return
    console.measurements(f"Accepted: {night.id} on {night.machine}", columns, rows)
    refusals = [f"Not accepted: {refusal.capture}: {refusal.reason}" for refusal in refused]
    console.show_warnings(refusals)
    console.show_hint("It holds for captures of the same work, from the next night on.")


Night = Annotated[str, argument("NIGHT", "The accepted night: its id, or its beginning.")]


@app.command("revoke")
def revoke(
    night: Night,
    *,
    reason: Reason,
    by: By = "",
    capture: options.Captures = None,
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """Withdraw the acceptance of a night's change.

    It stays in the list, with the reason. To expect an earlier night's change again, accept that
    night.
    """
    with open_history(history, config, night) as store:
        who = by or _login()
        revoked = store.revoke(night, capture or (), reason, who=who)
    capture_names = [acceptance.capture for acceptance in revoked]
    if json:
        console.show_json(answers.RevokedNight(revoked[0].night, tuple(capture_names)))
        return
    names = ", ".join(capture_names)
    console.show_line(f"revoked: {revoked[0].night}, {names}")


@app.command("list")
def list_(
    *,
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """List accepted changes and their reasons; the latest one of a capture is in force."""
    with open_history(history, config) as store:
        by_machine = [
            nightly.listing.held_on(name, store.acceptances(name)) for name in store.machines()
        ]
    all_entries = chain.from_iterable(by_machine)
    entries = sorted(all_entries, key=lambda entry: entry.accepted.at)
    if json:
        console.show_json(answers.Entries(tuple(entries)))
        return
    columns = ("accepted", "by", "night", "machine", "capture", "holds", "reason")
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        accepted = entry.accepted
        stamp = units.stamp(accepted.at)
        holding = "no"
        if entry.holds:
            holding = "yes"
        row = (
            stamp,
            accepted.who,
            accepted.night,
            entry.machine,
            accepted.capture,
            holding,
            accepted.reason,
        )
        rows.append(row)
    if not rows:
        console.show_hint(
            "Nothing was accepted; `tracekit nightly baseline accept NIGHT --reason TEXT`."
        )
    count_text = f"{len(entries)} accepted"
    console.measurements(count_text, columns, rows)
