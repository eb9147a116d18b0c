"""The rows of an export of track details, and what they hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.xml.malformed import MalformedError
from tracekit.tables.xml.repair import original, repaired
from tracekit.tables.xml.source import batches
from tracekit.tables.xml.symbols import STACK_TYPES

_MOST_DETAILS = 10_000
_MOST_COLUMNS = 1000


@dataclass
class Detail:
    """One detail of a file, and what its rows hold, in the order in which it first comes."""

    number: int
    xpath: str
    attributes: dict[str, None] = field(default_factory=dict[str, None])
    stacks: dict[str, None] = field(default_factory=dict[str, None])
    others: dict[str, None] = field(default_factory=dict[str, None])

    def look(self, rows: Sequence[Element]) -> None:
        """Note what more rows hold."""
        for row in rows:
            own = len(row.attrib)
            names = [] if own > _MOST_COLUMNS else list(map(str, row.attrib))
            new = dict.fromkeys(name for name in names if name not in self.attributes)
            if max(own, len(self.attributes) + len(new)) > _MOST_COLUMNS:
                raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
            self.attributes |= new
            for child in row:
                kind = self.stacks if child.tag in STACK_TYPES else self.others
                kind[str(child.tag)] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it."""
        strange = [name for name in map(original, self.attributes) if name not in self.attributes]
        told = {
            "attributes whose names XML does not allow are read all the same": strange,
            "elements that tracekit does not know are left out": self.others,
        }
        return tuple(f"{words}: {', '.join(names)}" for words, names in told.items() if names)


def details(path: Path) -> tuple[list[Detail], str]:
    """Find what the details of a file hold, up to its damage if it has any."""
    details: list[Detail] = []
    try:
        for number, xpath, rows in rows_of_details(path):
            if len(details) < number:
                details.append(Detail(number, xpath))
            if rows:
                details[-1].look(rows)
    except MalformedError as error:
        return details, str(error)
    return details, ""


def rows_of_details(path: Path) -> Iterator[tuple[int, str, list[Element]]]:
    """Yield rows as they come, with number and xpath of their detail, first of all no rows."""
    number, node, xpath = 0, None, ""
    for batch in batches(path, repaired):
        rows: list[Element] = []
        for element in batch:
            try:
                owner = _owner(element)
            except MalformedError:
                yield number, xpath, rows
                raise
            if owner is not None and owner is not node:
                yield number, xpath, rows
                number, node, xpath = number + 1, owner, owner.get("xpath", "")
                if number > _MOST_DETAILS:
                    raise MalformedError(f"there are more than {_MOST_DETAILS} details")
                rows = []
                yield number, xpath, rows
            if element.tag == "row":
                rows.append(element)
        yield number, xpath, rows


def _owner(element: Element) -> Element | None:
    """Return the node of a row, or a node itself; None for the root."""
    parent = element.getparent()
    if parent is None:
        return None
    node = parent if element.tag == "row" else element
    above = node.getparent()
    if node.tag != "node" or above is None or above.getparent() is not None:
        raise MalformedError(f"a <{element.tag}> stands where none belongs among details")
    return node
