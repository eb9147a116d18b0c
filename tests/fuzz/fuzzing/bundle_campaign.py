"""Damages to bundles, one by one: which bundles, which damages, and what became of them."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from bundle_writer import TIME, Col, Run, Table
from bundle_writer.examples import (
    APP,
    INFO,
    MAIN,
    SERVER,
    gpu_intervals,
    messages,
    profile,
    small_bundle,
)
from bundle_writer.whole import write_runs
from fuzzing.bundle_damage import (
    CHANGES,
    changed_inside,
    copied,
    exchanged,
    files_of,
    gone,
    replaced,
    without,
)
from fuzzing.bundle_endings import (
    COPIED,
    ERROR,
    EXCHANGED,
    REWRITTEN,
    Damage,
    Outcome,
    Tally,
    ending_of,
)
from fuzzing.bundles import Key, Told, told

_INSTEAD = ("nothing", "link", "folder")
_OFTEN = 6  # each way to change the bytes of a file, of 100 cases
REAL = 25  # of so many seeds, one is of a real bundle
_FEW = 4  # tables of a real bundle that are read where all of them may be affected
_XML = 16  # of so many seeds, one is written as XML, too
_ALL = 4  # of so many seeds, one reads tables too whose own files are whole


class Subject:
    """A bundle that is damaged again and again, and what it says undamaged."""

    def __init__(self, bundle: Path, only: Sequence[Key] | None = None) -> None:
        """Take a bundle whose files may be changed, and which tables to read of it."""
        self.bundle = bundle
        self.names = files_of(bundle)
        self.folders = sorted(
            str(one.relative_to(bundle)) for one in bundle.rglob("*") if one.is_dir()
        )
        self._only = only
        self._wholes: dict[tuple[Key, ...], Told] = {}
        self.whole = told(bundle, only)
        if self.whole.refused or self.whole.unread:
            raise AssertionError(f"{bundle}: {self.whole.refused} {dict(self.whole.unread)}")

    def case(self, seed: int, names: Sequence[str] | None = None) -> Outcome:
        """Do the damage of a seed, read the bundle, and undo the damage."""
        random = Random(seed)
        return self.tried(seed, self._damage(random, names or self.names))

    def tried(self, seed: int, damage: Damage) -> Outcome:
        """Do a damage, read the bundle, and undo the damage."""
        begun = time.monotonic()
        only = self._affected(damage) if seed % _ALL or self._only else None
        try:
            whole = self._whole(only)
            with damage.done:
                found = told(self.bundle, only, xml=seed % _XML == 0)
        except Exception as error:  # noqa: BLE001  whatever it is, no reader may raise it
            ending, words = ERROR, f"{type(error).__name__}: {error}"
        else:
            ending, words = ending_of(damage, whole, found)
        seconds = time.monotonic() - begun
        return Outcome(seed, damage.kind, damage.names, ending, words, seconds)

    def _whole(self, only: Sequence[Key] | None) -> Told:
        """Return what is said undamaged, of some tables."""
        if only is None or only == self._only:
            return self.whole
        key = tuple(only)
        if key not in self._wholes:
            self._wholes[key] = told(self.bundle, only)
        return self._wholes[key]

    def _affected(self, damage: Damage) -> Sequence[Key] | None:
        """Return the tables whose files are damaged; those to read where others are, too."""
        parts = [name.split("/") for name in damage.names]
        stores = [(int(one[1][3:]), int(one[4][14:])) for one in parts if "stores" in one[3:4]
                  and len(one) > 4]  # fmt: skip
        return stores if len(stores) == len(parts) else self._only

    def _damage(self, random: Random, names: Sequence[str]) -> Damage:
        kinds = [*CHANGES, REWRITTEN, "file gone", "folder gone", EXCHANGED, COPIED]
        weights = [_OFTEN] * len(CHANGES) + [20, 10, 4, 6, 6]
        kind = random.choices(kinds, weights)[0]
        name = random.choice(names)
        if kind == "folder gone":
            folder = random.choice(self.folders)
            return Damage(kind, (folder,), without(self.bundle, folder))
        if kind in {EXCHANGED, COPIED}:
            return self._moved(random, kind, name)
        if kind == "file gone":
            instead = random.choice(_INSTEAD)
            words = {"nothing": kind, "link": "file a link", "folder": "file a folder"}[instead]
            return Damage(words, (name,), gone(self.bundle, name, instead))
        content = (self.bundle / name).read_bytes()
        change = changed_inside if kind == REWRITTEN else CHANGES[kind]
        return Damage(kind, (name,), replaced(self.bundle, name, change(random, content)))

    def _moved(self, random: Random, kind: str, name: str) -> Damage:
        """Exchange a file, or the folder of a store, with another, or put the other there."""
        names = self.names
        if kind == EXCHANGED and random.random() < 0.5:
            kind, names = "folders exchanged", self.folders
            stores = [one for one in names if "indexed-store-" in one]
            name = random.choice(stores)
        ending = name.rpartition("/")[2].rstrip("0123456789")
        others = [one for one in names if one != name and "/" in one and
                  one.rpartition("/")[2].rstrip("0123456789") == ending]  # fmt: skip
        if not others:
            return Damage("file gone", (name,), gone(self.bundle, name, "nothing"))
        other = random.choice(others)
        if kind == COPIED:
            content = (self.bundle / other).read_bytes()
            return Damage(kind, (name,), replaced(self.bundle, name, content))
        return Damage(kind, (name, other), exchanged(self.bundle, name, other))


def made_subjects(folder: Path) -> Iterator[Subject]:
    """Make small bundles with all kinds of values: one run, two runs, and one without document."""
    yield Subject(small_bundle(folder / "one" / "small.trace"))
    runs = {
        1: Run([gpu_intervals(), messages(), _wide()], info=INFO),
        2: Run([profile(), gpu_intervals()], info=INFO, names=[APP, SERVER, MAIN]),
    }
    yield Subject(write_runs(folder / "two" / "runs.trace", runs))
    path = folder / "bare" / "bare.trace"
    yield Subject(small_bundle(path, with_document=False, names=[APP, SERVER, MAIN]))


def _wide() -> Table:
    """Return a table whose zeroes behind its rows are more than is inflated at once."""
    columns = [Col(f"c{number}", "", "XRDurationTypeID") for number in range(10)]
    return Table("wide", [Col("time", "", "XRStartTimeTypeID", TIME), *columns], [range(1, 12)] * 3)


def real_subjects(folder: Path, corpus: Path) -> Iterator[Subject]:
    """Copy real bundles, of which few tables are read at a time."""
    place = corpus / "Oichkatzelesfrettschen+steinmarder" / "_history_8227983"
    for name, stores in (("gpu_baseline", (45, 77, 89)), ("cpu_time_profiler", (0, 1, 2))):
        if (place / f"{name}.trace").is_dir():
            bundle = copied(place / f"{name}.trace", folder / name / f"{name}.trace")
            yield Subject(bundle, [(1, number) for number in stores[:_FEW]])


def subject_of(seed: int, made: Sequence[Subject], real: Sequence[Subject]) -> Subject:
    """Return the bundle that a seed damages."""
    if seed % REAL == 0 and real:
        return real[seed // REAL % len(real)]
    return made[seed % len(made)]


def each(bundle: Path) -> Tally:
    """Take every file away in every way, and cut it in two."""
    tally, subject = Tally(), Subject(bundle)
    for name in subject.names:
        for instead in _INSTEAD:
            tally.take(subject.tried(_ALL, Damage(instead, (name,), gone(bundle, name, instead))))
        content = (bundle / name).read_bytes()
        for part in (len(content) // 2, len(content) - 1):
            cut = Damage("cut", (name,), replaced(bundle, name, content[:part]))
            tally.take(subject.tried(_ALL, cut))
    return tally


def run(subject: Subject, seeds: Sequence[int], names: list[str] | None = None) -> Tally:
    """Try seeds on one bundle, in this process; of `names` only, if they are given."""
    tally = Tally()
    for seed in seeds:
        tally.take(subject.case(seed, names))
    return tally
