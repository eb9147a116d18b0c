"""How an export is written: as xctrace does, or in another way that is XML all the same."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

_KEYS: dict[str, Callable[[int], str]] = {
    "from 1": str,
    "from 0": lambda number: str(number - 1),
    "with gaps": lambda number: str(number * 7 + 3),
    "huge": lambda number: str(4_000_000_000 + number),
    "backwards": lambda number: str(1_000_000 - number),
    "words": lambda number: f"x{number}",
    "padded": lambda number: f"0{number}",
}


@dataclass(frozen=True)
class Style:
    """The ways in which one export differs from what xctrace writes; the defaults do not.

    Numbers are the probabilities of an oddity at each place where it can be.
    """

    keys: str = "from 1"
    restarts: bool = False  # ids begin again in every table
    repeats: float = 1.0  # a known value is repeated by its id, not written again
    values: float = 0.0  # a value is not of its type's form, or holds markup
    tags: float = 0.0  # a cell has another type than its column
    spacing: float = 0.0  # blanks where XML allows them
    quotes: float = 0.0  # single quotes round an attribute
    order: float = 0.0  # attributes in another order, or more of them
    references: float = 0.0  # a letter as a character reference
    sections: float = 0.0  # CDATA, comments, processing instructions
    prolog: str = '<?xml version="1.0"?>\n'
    line_end: str = "\n"
    encoding: str = "utf-8"
    tables: int = 1
    headless: float = 0.0  # a table inherits the header of the one before

    def key(self, number: int) -> str:
        """Return the id of the element with that number, counted from 1."""
        return _KEYS[self.keys](number)


def plain() -> Style:
    """Write as xctrace does."""
    return Style()


def odd(random: Random) -> Style:
    """Write in one to three other ways."""
    chosen = random.sample(range(12), random.randrange(1, 4))
    changes: dict[str, object] = {}
    for number in chosen:
        changes |= _oddity(random, number)
    if changes.get("encoding") == "latin-1":
        changes["sections"] = 0.0  # CDATA cannot hold references to other letters
    return Style(**changes)  # type: ignore[arg-type]  # names and values are those of Style


def _oddity(random: Random, number: int) -> dict[str, object]:
    rarely = random.choice([0.01, 0.1, 0.5])
    oddities: list[dict[str, object]] = [
        {"keys": random.choice(sorted(_KEYS))},
        {"tables": random.randrange(0, 4), "restarts": random.random() < 0.5},
        {"tables": 3, "headless": 0.5},
        {"repeats": random.choice([0.0, 0.5, 0.95])},
        {"values": rarely},
        {"tags": rarely},
        {"spacing": rarely},
        {"quotes": rarely},
        {"order": rarely},
        {"references": rarely},
        {"sections": rarely},
        random.choice(
            [
                {"prolog": ""},
                {"prolog": '\ufeff<?xml version="1.0"?>\n'},
                {"prolog": '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'},
                {"prolog": "<?xml version='1.0'?><!-- made by --> "},
                {"prolog": '<?xml version="1.0" encoding="iso-8859-1"?>', "encoding": "latin-1"},
                {
                    "prolog": '\ufeff<?xml version="1.0" encoding="UTF-16"?>',
                    "encoding": "utf-16-le",
                },
                {"line_end": "\r\n"},
                {"line_end": ""},
            ]
        ),
    ]
    return oddities[number]
