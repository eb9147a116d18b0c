"""What `history --export` writes, and the options that say how."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracekit.nightly.history.series import Series
    from tracekit.nightly.history.store.store import Store

Format = Literal["csv", "json", "parquet", "otava", "bencher", "github-action-benchmark"]

Export = Annotated[
    Path | None, typer.Option(metavar="FILE|-", help="Write medians of each night into a file.")
]
FormatName = Annotated[
    Format, typer.Option("--format", help="How; the last two hold the last night alone.")
]
Samples = Annotated[
    bool, typer.Option("--samples", help="Export every value of every turn instead of medians.")
]
Better = Annotated[
    Literal["lower", "higher"],
    typer.Option(help="Which metrics go to github-action-benchmark: a file has one kind."),
]

STDOUT = Path("-")
_FLAT = ("csv", "json", "parquet")


@dataclass(frozen=True)
class Chosen:
    """How an export is to be written."""

    kind: Format
    better: Literal["lower", "higher"]
    samples: bool


def require_sense(chosen: Chosen, export: Path | None) -> None:
    """Raise UsageError where options do not go together."""
    from tracekit.base.errors import UsageError

    if chosen.samples and (export is None or chosen.kind not in _FLAT):
        raise UsageError(
            "--samples says what --export writes as csv, json or parquet.",
            hint="Add --export FILE --format csv",
        )


def write(store: "Store", of: dict[str, Any], file: Path, chosen: Chosen) -> None:
    """Write what is chosen into a file, whole or not at all; or on stdout."""
    from tracekit.base.files import replacing
    from tracekit.base.redaction import redaction
    from tracekit.cli import console

    content = _content(store, of, file, chosen, redaction())
    if file == STDOUT:
        sys.stdout.flush()
        stdout = sys.stdout.buffer
        content(stdout)
        stdout.flush()
        return
    with replacing(file) as written:
        content(written)
    console.show_written(file)


def known_series(store: "Store", of: dict[str, Any]) -> "list[Series]":
    """Return the series of what is named.

    Raises:
        UsageError: Something that is named is not in the history.
    """
    from tracekit.base.errors import UsageError, require

    found = store.series(**of)
    if found:
        return found
    every = store.series()
    for what in ("plan", "machine", "capture", "metric"):
        if of[what] is not None:
            names = dict.fromkeys(str(getattr(one, what)) for one in every)
            require(str(of[what]), names, what)
    raise UsageError(
        "The history has no series of this.", hint="`tracekit history` lists the nights it has."
    )


def _content(
    store: "Store", of: dict[str, Any], file: Path, chosen: Chosen, redact: "Callable[[str], str]"
) -> "Callable[[BinaryIO], Any]":
    """Return what writes the content into a file that is open."""
    from tracekit.nightly.history.exports.flat import write_points, write_values

    kind, series = chosen.kind, known_series(store, of)
    if kind == "csv" or kind == "json" or kind == "parquet":  # noqa: PLR1714  types see it so
        if chosen.samples:
            return lambda opened: write_values(opened, store.samples(**of), kind, redact)
        return lambda opened: write_points(opened, series, kind, redact)
    text = _of_others(series, file, chosen)
    return lambda opened: opened.write(text)


def _of_others(series: "Sequence[Series]", file: Path, chosen: Chosen) -> bytes:
    from tracekit.base.recording import as_json
    from tracekit.cli import console
    from tracekit.nightly.history.exports.bencher import bencher
    from tracekit.nightly.history.exports.github import TOOLS, benchmarks
    from tracekit.nightly.history.exports.otava import otava

    if chosen.kind == "bencher":
        return as_json(bencher(series))
    if chosen.kind == "github-action-benchmark":
        console.show_hint(f"The action reads it with tool: {TOOLS[chosen.better]}")
        return as_json(benchmarks(series, chosen.better))
    made = otava(series, "history.csv" if file == STDOUT else str(file))
    if made.left_out:
        nights = "1 night has" if made.left_out == 1 else f"{made.left_out} nights have"
        console.show_warnings([f"{nights} no value of one of these metrics."])
    console.show_hint(f"Otava reads it with this configuration:\n{made.test}")
    return made.csv.encode()
