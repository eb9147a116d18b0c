"""Nights as a history keeps them, made of literal values, and what is said past its store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import create_engine, text

from tracekit.base.recording import Overhead
from tracekit.machine.state import State
from tracekit.nightly.history.night import (
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.history.store.place import url_of
from tracekit.nightly.history.store.store import Store

ENVIRONMENT = {"chip": "Apple M1", "cores": 8, "os": "macOS 26.0", "mlx": "0.32.0"}
PARAMETERS = {"batch": 8, "dtype": "float16"}


def pair_of(
    number: int = 1,
    candidate: float = 110.0,
    reference: float = 100.0,
    *,
    session: int = 1,
    rejections: tuple[str, ...] = (),
    metric: str = "step_p50",
    traced: bool = False,
) -> Pair:
    """Make a pair whose sides had two turns each, a bit below and above the value."""
    return Pair(
        session, number, "abba", traced=traced, rejections=rejections,
        candidate={metric: (candidate - 1, candidate + 1)},
        reference={metric: (reference - 1, reference + 1)},
        before=State("2026-03-01T02:31:00+00:00", {"load": 0.1}, {"battery": "no battery"}),
        after=State("2026-03-01T02:32:00+00:00", {"load": 0.2}),
    )  # fmt: skip


def judged_of(metric: str = "step_p50", **more: Any) -> Judged:
    """Make a judgement of a time that got worse by a tenth."""
    default_judgement = Judged(
        metric, "ns", "lower", outcome=Outcome.REGRESSION, candidate=110.0, reference=100.0,
        change=0.1, low=0.08, high=0.12, expected=0.0, pairs=2, reproduced=True,
        reason="It is slower.",
    )  # fmt: skip
    return replace(default_judgement, **more)


def entry_of(
    capture: str = "decode",
    pairs: Sequence[Pair] = (pair_of(1), pair_of(2, 111.0)),
    judged: Sequence[Judged] = (judged_of(),),
    **more: Any,
) -> Entry:
    default_entry = Entry(
        capture, "w1",
        Described("paged", PARAMETERS, "3.11", "0.32.0", "0.1.0", "1a2b3c4", "paged"),
        Described("sdpa", PARAMETERS, words="sdpa"), tuple(pairs), tuple(judged),
        (TracedFinding("small-work", "Work is small.", "warning", 1, 1, 0, 12.5, 800.0),),
        Outcome.REGRESSION, "step_p50 is slower.", Overhead(0.02, 0.01, 20, 20),
        "The quick grid agrees.", "gpu",
    )  # fmt: skip
    return replace(default_entry, **more)


def night_of(
    day: int = 1, entries: Sequence[Entry] = (entry_of(),), *, tail: str = "abcd", **more: Any
) -> Night:
    name, day_of = f"2026-03-{day:02d}T02-30-00-{tail}", f"2026-03-{day:02d}T02"
    default_night = Night(
        name, "nightly", "mini", f"{day_of}:30:00.000+00:00", "d1", ENVIRONMENT,
        f"{day_of}:55:00.000+00:00", "1a2b3c4", tuple(entries), Outcome.REGRESSION,
        "decode: step_p50 is slower.", folder=name,
    )  # fmt: skip
    return replace(default_night, **more)


def sql(url: str, statement: str) -> list[Any]:
    """Say something to a history's database past its store, as a person with a tool does."""
    engine = create_engine(url_of(url))
    try:
        with engine.begin() as connection:
            done = connection.execute(text(statement))
            return [tuple(row) for row in done] if done.returns_rows else []
    finally:
        engine.dispose()


def two_nights(store: Store) -> None:
    pairs = [pair_of(number) for number in range(1, 8)]
    fine = judged_of(outcome=Outcome.OK, change=0.01, low=-0.01, high=0.02)
    entry = entry_of(pairs=pairs, judged=[fine], outcome=Outcome.OK)
    store.append(night_of(1, [entry], outcome=Outcome.OK, reason=""))
    store.append(night_of(2, [entry_of(pairs=pairs)]))
