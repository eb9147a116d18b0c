"""The types of a run's values, as far as an export can name them."""

import re
from dataclasses import replace

from tracekit.tables.bundle.cells.encodings import Encoding, EngineeringType, engineering_type
from tracekit.tables.bundle.container.requirements import Requirements

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9-]*", re.ASCII)


class Types:
    """What is known of each type, asked for once."""

    def __init__(self, required: Requirements) -> None:
        """Take what the bundle says of its types."""
        self._required = required
        self._known: dict[str, EngineeringType] = {}

    def of(self, type_id: str) -> EngineeringType:
        """Return what is known of a type; of one whose tag can be no element's, nothing."""
        known = self._known.get(type_id)
        if known is None:
            known = engineering_type(type_id, self._required)
            if not _TAG.fullmatch(known.tag):
                known = replace(known, encoding=Encoding.UNKNOWN)
            self._known[type_id] = known
        return known
