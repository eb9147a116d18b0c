"""Many cases, one after the other: counts, and the smallest file of each kind of difference."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzzing.comparison import Verdict, blocks_of, harm, judge, untruth
from fuzzing.export import export
from fuzzing.mutation import mutated
from fuzzing.style import odd, plain

Finding = tuple[str, str, bytes]  # a kind, what was seen, the file
_BLOCKS = [300, 2000, 1 << 20]
_PLAIN = 0.6  # the share of the exports that are written as xctrace writes them
KINDS = ("differs", "untrue", "harmed", "failed")


@dataclass(frozen=True)
class Case:
    """A file that shows what must not be: one of `KINDS`, and what was seen, in words."""

    seed: int
    content: bytes
    kind: str
    words: str


@dataclass
class Tally:
    """What was seen so far."""

    counts: Counter[str] = field(default_factory=Counter[str])
    cases: list[Case] = field(default_factory=list[Case])

    @property
    def accepted(self) -> float:
        """The share of the files written as xctrace writes them that the fast reader takes."""
        return self.counts["plain, read fast"] / max(self.counts["plain"], 1)


def run(seeds: range, *, mutations: int = 4, until: float = float("inf")) -> Tally:
    """Try the seeds, or as many of them as the clock allows; files are kept nowhere."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            if time.monotonic() > until:
                break
            for kind, words, content in _tried(seed, Path(folder, "export.xml"), mutations, tally):
                tally.cases.append(Case(seed, content, kind, words))
    return tally


def _tried(seed: int, path: Path, mutations: int, tally: Tally) -> Iterator[tuple[str, str, bytes]]:
    random = Random(seed)
    is_plain = random.random() < _PLAIN
    whole = export(random, plain() if is_plain else odd(random))
    block = random.choice(_BLOCKS)

    def differs(name: str) -> str:
        return _judged(path, block, tally, name).difference

    def looks(
        content: bytes, *checks: tuple[str, Callable[[], str]]
    ) -> Iterator[tuple[str, str, bytes]]:
        path.write_bytes(content)
        for kind, check in checks:
            try:
                found = kind, check()
            except Exception as error:  # noqa: BLE001  # whatever it is, no reader may raise it
                found = "failed", f"{type(error).__name__}: {error}"
            if found[1]:
                yield found[0], found[1], content

    name = "plain" if is_plain else "odd"
    yield from looks(
        whole.content, ("untrue", lambda: untruth(path, whole)), ("differs", lambda: differs(name))
    )
    for _ in range(mutations):
        content, first = mutated(random, whole.content)
        yield from looks(
            content,
            ("differs", lambda: differs("damaged")),
            ("harmed", lambda first=first: harm(path, whole, first)),
        )


def _judged(path: Path, block: int, tally: Tally, name: str) -> Verdict:
    with blocks_of(block):
        verdict = judge(path)
    tally.counts[name] += 1
    tally.counts[f"{name}, read fast"] += verdict.fast
    tally.counts[f"{name}, not well-formed"] += not verdict.well_formed
    tally.counts["different"] += bool(verdict.difference)
    return verdict


def smallest(content: bytes, shows: Callable[[bytes], bool]) -> bytes:
    """Leave out as much as can be left out while the file still shows what it did."""
    step = len(content) // 2
    while step > 0:
        place, shorter = 0, content
        while place < len(shorter):
            candidate = shorter[:place] + shorter[place + step :]
            if shows(candidate):
                shorter = candidate
            else:
                place += step
        step = step // 2 if len(shorter) == len(content) else min(step, len(shorter) // 2)
        content = shorter
    return content


def still_differs(content: bytes, block: int = _BLOCKS[-1]) -> bool:
    """Tell whether the two readers differ on a file with that content."""
    with tempfile.TemporaryDirectory() as folder, blocks_of(block):
        path = Path(folder, "export.xml")
        path.write_bytes(content)
        return bool(judge(path).difference)
