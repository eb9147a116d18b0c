"""The trend page of a history."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from tracekit.base import redaction
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.store import Store, WantedNights
from tracekit.nightly.trend.course import links_from
from tracekit.nightly.trend.page import render_trend


def draw_trend(
    store: Store,
    series: Sequence[Series],
    page: Path,
    *,
    history_folder: Path | None,
    now: str,
    **selection: Unpack[WantedNights],
) -> str:
    """Return the trend page of series and of the selected nights.

    `page` is where it will be, and `history_folder` the folder that holds the history, None for one
    on a server: links to the folders of nights start there. `now` is ISO 8601.
    """
    page_folder = page.resolve().parent
    linked_folder = history_folder.resolve() if history_folder else page_folder
    return render_trend(
        series,
        store.nights(**selection),
        store.acceptances(),
        missed=store.missed_nights(plan=selection.get("plan")),
        now=now,
        redact=redaction.own_redaction(),
        links=links_from(page_folder, linked_folder),
    )
