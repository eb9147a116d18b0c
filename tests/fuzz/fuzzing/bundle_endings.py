"""How the case of a damaged bundle ends, and who counts that.

    refused      the bundle is not opened, and an error says why
    told         what is read differs from the undamaged bundle, and a new sentence names the
                 damaged file, its table or its run: an error of the table, a remark or a note
    harmless     tables, symbols, table of contents and notes are those of the undamaged bundle
    undetectable what is read differs, and nothing could tell it (below)
    SILENT       what is read differs, or is missing, and no sentence names where
    ERROR        something else was raised than tracekit's own errors

What protects a bundle: every file of a run in `corespace` is a zlib stream with a checksum, so any
change to its stored bytes shows; the list of tables names each store with schema and attributes;
the schema, the descriptor and the records must agree in sizes and numbers of rows. Undetectable
in principle, and so kept apart, are

    unprotected  a changed value in a file without checksum: the document, `open.creq`, symbols and
                 the notes. They hold words and no numbers of tables, so it is SILENT all the same
                 if rows, or any numbers in the tables, differ; or if the file is missing, empty,
                 cut, longer, a link or a folder;
    rewritten    a change within a stream whose checksum was made right again, as no broken disk and
                 no cut copy does it;
    same form    files of two stores, or of two runs, that changed places and have the same form,
                 where each says no more than its form.
"""

from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from fuzzing.bundle_damage import is_checked
from fuzzing.bundles import Told

REFUSED, TOLD, HARMLESS, UNDETECTABLE = "refused", "told", "harmless", "undetectable"
SILENT, ERROR = "SILENT", "ERROR"
REWRITTEN, EXCHANGED, COPIED = "rewritten", "files exchanged", "file of another"
_OF_VALUES = {"bits flipped", "bits flipped early", "bytes lost", "bytes zeroed", REWRITTEN}


@dataclass(frozen=True)
class Damage:
    """A damage: of which kind, to which files or folders, and what does and undoes it."""

    kind: str
    names: tuple[str, ...]
    done: AbstractContextManager[None]


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and in words why it had to end so or must not."""

    seed: int
    kind: str
    names: tuple[str, ...]
    ending: str
    words: str = ""
    seconds: float = 0.0

    @property
    def is_finding(self) -> bool:
        """Whether it must not be."""
        return self.ending in {SILENT, ERROR}

    def __str__(self) -> str:
        """Say it in a line."""
        names = ", ".join(self.names)
        return f"seed {self.seed}: {self.ending}: {self.kind}: {names}: {self.words}"


@dataclass
class Tally:
    """What became of cases: how many ended how, by kind of damage; `findings` must not be.

    `unseen` counts the damages that nothing could tell, by the names of the damaged files.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    unseen: Counter[str] = field(default_factory=Counter[str])
    findings: list[str] = field(default_factory=list[str])
    slowest: float = 0.0

    def take(self, outcome: Outcome) -> None:
        """Count a case."""
        self.counts[outcome.kind, outcome.ending] += 1
        self.slowest = max(self.slowest, outcome.seconds)
        if outcome.ending == UNDETECTABLE:
            self.unseen.update({one.rpartition("/")[2] for one in outcome.names})
        if outcome.is_finding:
            self.findings.append(str(outcome))

    def ended(self, ending: str) -> int:
        """Count the cases that ended so."""
        return sum(count for (_, one), count in self.counts.items() if one == ending)


def ending_of(damage: Damage, whole: Told, found: Told) -> tuple[str, str]:
    """Return how a case ended, and why in words."""
    if found.refused:
        return REFUSED, found.refused
    differing = list(found.differing(whole))
    if not differing:
        return HARMLESS, ""
    new = found.said - whole.said
    words = f"{', '.join(differing)[:300]}; said: {' '.join(sorted(new))[:300]}"
    protected = all(is_checked(name) for name in damage.names)
    moved = damage.kind in {EXCHANGED, COPIED}
    rewritten = damage.kind == REWRITTEN and protected
    wrong = found.wrong_numbers(whole)
    if wrong and not found.speaks_of(wrong, new, damage.names):
        excused = rewritten or (moved and protected)
        return (UNDETECTABLE if excused else SILENT), f"other numbers in {wrong}; {words}"
    if any(_names(damage, one) for one in new) or found.unread.keys() - whole.unread.keys():
        return TOLD, words
    excused = rewritten or moved or (damage.kind in _OF_VALUES and not protected)
    return (UNDETECTABLE if excused else SILENT), words


def _names(damage: Damage, sentence: str) -> bool:
    """Tell whether a sentence says where the damage is."""
    return any(
        name.rpartition("/")[2] in sentence or name in sentence or "/".join(name.split("/")[:-1]) in
        sentence for name in damage.names
    )  # fmt: skip
