"""Many damages to the files of one bundle, one after the other."""

import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzzing.bundle_damage import (
    changed,
    changed_inside,
    files_of,
    gone,
    is_checked,
    replaced,
)
from fuzzing.bundles import Key, Told, told

_INSTEAD = ("nothing", "link", "folder")
_TOO_LONG = 10.0


@dataclass
class Tally:
    """What became of the damages; `findings` are those that must not be."""

    only: Key | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    findings: list[str] = field(default_factory=list[str])
    slowest: float = 0.0


def run(
    bundle: Path, seeds: range, only: Key | None = None, names: list[str] | None = None
) -> Tally:
    """Try the seeds on a bundle, which is whole again afterwards.

    Args:
        bundle: The bundle.
        seeds: One for each damage.
        only: Which table to read; all of them where it is None.
        names: Which files to damage; any of them where it is None.
    """
    tally, whole, names = Tally(only), told(bundle, only), names or files_of(bundle)
    if whole.refused or whole.unread:
        tally.findings.append(f"the whole bundle: {whole.refused} {dict(whole.unread)}")
    for seed in seeds:
        random = Random(seed)
        name = random.choice(names)
        kind = random.choices(["changed", "inside", "gone"], [5, 5, 1])[0]
        _try(
            tally,
            bundle,
            whole,
            f"seed {seed}: {kind}: {name}",
            _damage(random, bundle, name, kind),
        )
    return tally


def each(bundle: Path) -> Tally:
    """Take every file away in every way, and cut it in two."""
    tally, whole = Tally(), told(bundle)
    for name in files_of(bundle):
        for instead in _INSTEAD:
            _try(tally, bundle, whole, f"{instead}: {name}", gone(bundle, name, instead))
        content = (bundle / name).read_bytes()
        for part in (len(content) // 2, len(content) - 1):
            cut = replaced(bundle, name, content[:part])
            _try(tally, bundle, whole, f"changed: cut at {part}: {name}", cut)
    return tally


def _damage(random: Random, bundle: Path, name: str, kind: str) -> AbstractContextManager[None]:
    if kind == "gone":
        return gone(bundle, name, random.choice(_INSTEAD))
    content = (bundle / name).read_bytes()
    change = changed if kind == "changed" else changed_inside
    return replaced(bundle, name, change(random, content))


def _try(
    tally: Tally, bundle: Path, whole: Told, words: str, damage: AbstractContextManager[None]
) -> None:
    begun = time.monotonic()
    with damage:
        try:
            found = told(bundle, tally.only)
        except Exception as error:  # noqa: BLE001  # whatever it is, no reader may raise it
            tally.findings.append(f"{words}: {type(error).__name__}: {error}")
            return
    seconds = time.monotonic() - begun
    tally.slowest = max(tally.slowest, seconds)
    if seconds > _TOO_LONG:
        tally.findings.append(f"{words}: took {seconds:.1f} s")
    untrue = found.untrue_of(whole)
    checked = is_checked(words.rpartition(": ")[2]) and ": inside: " not in words
    if untrue and checked:
        tally.findings.append(f"{words}: other values in {untrue}")
    outcome = "refused" if found.refused else "in part" if found.unread else "read"
    tally.counts[f"{outcome}, but otherwise" if untrue else outcome] += 1
