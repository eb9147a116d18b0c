"""What an answer does not hold, in a few sentences that name the runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tracekit.tables.bundle.cells.notes import without_bundle

_NAMED = 12  # runs of one sentence, and sentences of one kind


@dataclass(frozen=True)
class LeftOut:
    """Runs that lack a table or cannot be read, and what readers said of the others."""

    _lacking: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _reasons: dict[tuple[str, str], list[str]] = field(
        default_factory=dict[tuple[str, str], list[str]]
    )
    _remarks: dict[tuple[str, str], list[str]] = field(
        default_factory=dict[tuple[str, str], list[str]]
    )

    def lacks(self, table: str, run: str) -> None:
        """Note that a run does not have a table."""
        self._lacking.setdefault(table, []).append(run)

    def unreadable(self, table: str, run: str, reason: str) -> None:
        """Note that a run's table cannot be read."""
        self._reasons.setdefault((table, reason), []).append(run)

    def said(self, table: str, run: str, words: Sequence[str]) -> None:
        """Note what the reader of a run's table had to say."""
        for one in words:
            self._remarks.setdefault((table, without_bundle(one)), []).append(run)

    def reason(self, table: str) -> str:
        """Name the first runs whose table cannot be read, and why; empty where there are none."""
        broken = ((runs, why) for (name, why), runs in self._reasons.items() if name == table)
        return next((f"{_named(runs)}: {why.rstrip('.')}" for runs, why in broken), "")

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it in sentences."""
        return (*self._absent(), *self._broken(), *self._remarked())

    def _absent(self) -> Iterator[str]:
        for table, runs in self._lacking.items():
            verb = "has" if len(runs) == 1 else "have"
            yield f"{_count(runs)} {verb} no table {table}, left out: {_named(runs)}."

    def _broken(self) -> Iterator[str]:
        yield from _few(
            [
                f"{table} of {_named(runs)} is left out: {reason}"
                for (table, reason), runs in self._reasons.items()
            ],
            "runs that are left out for other reasons",
        )

    def _remarked(self) -> Iterator[str]:
        yield from _few(
            [
                f"{table} of {_named(runs)}: {words}"
                for (table, words), runs in self._remarks.items()
            ],
            "remarks of readers",
        )


def _few(sentences: list[str], kind: str) -> Iterator[str]:
    yield from sentences[:_NAMED]
    if len(sentences) > _NAMED:
        yield f"There are {len(sentences) - _NAMED:,} more {kind}; ask fewer runs to see them."


def _count(runs: list[str]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs):,} runs"


def _named(runs: list[str]) -> str:
    some = ", ".join(runs[:_NAMED])
    return some if len(runs) <= _NAMED else f"{some} and {len(runs) - _NAMED:,} more"
