"""What comparing direct reads with exports has shown, kept in the user's cache for each build."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec

from tracekit.base import TracekitError, save
from tracekit.record.xctrace.tool import read_version
from tracekit.tables import Store

log = logging.getLogger(__name__)

FORMAT = 1
Standing = Literal["equal", "differs", "unchecked"]


@dataclass(frozen=True)
class Checked:
    """A table that was compared.

    Attributes:
        schema: Its name.
        rows: How many rows were compared.
        checked: When.
        difference: The first difference in words; empty if there was none.
    """

    schema: str
    rows: int
    checked: str
    difference: str = ""


@dataclass(frozen=True)
class Memory:
    """What is known of the bundles of one build of Xcode: tables by `shape`."""

    build: str
    tables: Mapping[str, Checked] = field(default_factory=dict[str, Checked])
    format: int = FORMAT

    def standing(self, store: Store) -> Standing:
        """Tell whether a table was compared, and how that came out.

        A comparison of a table without rows says nothing of one with rows.
        """
        known = self.tables.get(shape(store))
        if known is None or (store.rows and not known.rows and not known.difference):
            return "unchecked"
        return "differs" if known.difference else "equal"

    def difference(self, store: Store) -> str:
        """Return how a direct read differs from an export, empty where it does not."""
        known = self.tables.get(shape(store))
        return known.difference if known else ""

    def learned(self, store: Store, checked: Checked) -> "Memory":
        """Return what is known after one more comparison."""
        return replace(self, tables={**self.tables, shape(store): checked})


def shape(store: Store) -> str:
    """Return a name for a table's schema and the types of its columns, as they are stored."""
    columns = "\n".join(
        f"{one.mnemonic} {one.type_id} {one.field.offset} {one.field.width}"
        for one in store.columns
    )
    return f"{store.schema} {blake2b(columns.encode(), digest_size=8).hexdigest()}"


def build_of(instruments_version: str) -> str:
    """Return the build that a TOC names, such as 17C529; empty where it names none."""
    return read_version(instruments_version).build


def recall(build: str, where: Path) -> Memory:
    """Return what is known of a build; what cannot be read, or is of a newer form, is forgotten."""
    file = _file(build, where)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Memory)
    except FileNotFoundError:
        return Memory(build)
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read, so tables will be compared again: %s", file, error)
        return Memory(build)
    return found if (found.format, found.build) == (FORMAT, build) else Memory(build)


def keep(memory: Memory, where: Path) -> None:
    """Write down what is known; a cache that cannot be written is only a warning in the log."""
    try:
        save(_file(memory.build, where), memory)
    except TracekitError as error:
        log.warning("tables will be compared again: %s", error.message)


def _file(build: str, where: Path) -> Path:
    word = re.sub(r"[^A-Za-z0-9.]+", "-", build).strip("-.") or "unknown"
    return where / f"direct-reading-{word}.json"
