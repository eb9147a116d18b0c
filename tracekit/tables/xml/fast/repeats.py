"""Whether a repeat names a definition of its own type that has ended."""

import numpy as np

from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import Elements
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.tokens import DEEPEST, Positions


def check_repeats(elements: Elements, definitions: Definitions) -> None:
    """Raise IrregularError for a repeat of another type, or of an element that is still open."""
    places = elements.references
    codes = elements.codes.take(places)
    targets = elements.ids.take(places)
    demand((definitions.codes.array.take(targets) == codes).all(), "a repeat of another type")
    tokens = elements.tokens
    compounds = np.flatnonzero(tokens.opening & ~tokens.leaf & (tokens.levels > 0))
    open_types = np.zeros((DEEPEST + 2, definitions.width), np.bool_)
    open_types[tokens.levels.take(compounds) + 1, elements.codes.take(compounds)] = True
    np.logical_or.accumulate(open_types, axis=0, out=open_types)
    at = tokens.levels.take(places).astype(np.intp) * definitions.width + codes
    suspicious = places[open_types.ravel().take(at)]
    if suspicious.size:
        _check_ancestors(elements, suspicious)


def _check_ancestors(elements: Elements, places: Positions) -> None:
    tokens = elements.tokens
    levels = tokens.levels.take(places)
    for level in range(1, int(levels.max())):
        opening = np.flatnonzero(tokens.opening & (tokens.levels == level))
        deeper = places[levels > level]
        ancestors = opening.take(np.searchsorted(opening, deeper) - 1)
        same = elements.ids.take(ancestors) == elements.ids.take(deeper)
        demand(not same.any(), "a repeat of what is not defined yet")
