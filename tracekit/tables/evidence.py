"""What the cells of a column have shown of it, piece by piece, and the type that follows.

A column's type follows from all of its cells: one that breaks the declared form makes the
whole column text. The evidence of several pieces is that of the column they make together, so
that it does not matter in how many pieces a table is read.
"""

from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from tracekit.tables.values import FORMS, Form, Text, TextEvidence, is_coded

_ANY = "any"


@dataclass(eq=False)
class ColumnEvidence:
    """What is known of one column of a flat table.

    `declared` is its engineering type; None for the ids beside a process or a thread, and for
    the numbers of stacks.
    """

    name: str
    declared: str | None
    nulls: bool = False
    foreign: set[str] = field(default_factory=set[str])
    typed: pa.DataType | None = None
    coded: pa.DataType | None = None
    texts: TextEvidence = field(default_factory=TextEvidence)

    def take(self, cells: pa.ChunkedArray, foreign: frozenset[str]) -> None:
        """Look at the cells of one more piece."""
        self.nulls = self.nulls or cells.null_count > 0
        self.foreign |= foreign
        if pa.types.is_string(cells.type):
            self.texts.take(cells, self._possible)
        elif is_coded(cells.type):
            self.coded = cells.type
            self.texts.take(_texts(cells), self._possible)
        else:
            self.typed = cells.type

    @property
    def settled(self) -> bool:
        """Whether no cell to come can change the type."""
        return self.typed is not None or self._form is Form.TEXT

    @property
    def type(self) -> pa.DataType:
        """The type of the column, as far as it was seen."""
        if self.typed is not None:
            return pa.bool_() if self._form is Form.FLAG else self.typed
        found = None if self._clashing else self.texts.type(self._effective)
        if found is None or pa.types.is_string(found):
            return self.coded or pa.string()
        return found

    @property
    def drift(self) -> str | None:
        """Say how the column breaks its declared type, if it does."""
        if self.typed is not None:
            return None
        if self._clashing:
            return (
                f"{self.name} is declared as {self.declared} and holds "
                f"{', '.join(sorted(self.foreign))}; it is text"
            )
        form = self._effective
        if self.texts.type(form) is not None:
            return None
        if self.declared is None:
            return f"{self.name} holds what is no number, and is text"
        declared = next(iter(self.foreign)) if self._one_foreign else self.declared
        return f"{self.name} is declared as {declared} and holds what is no {form}; it is text"

    @cached_property
    def _form(self) -> Form | None:
        return Form.INTEGER if self.declared is None else FORMS.get(self.declared)

    @property
    def _one_foreign(self) -> bool:
        return self.declared == _ANY and len(self.foreign) == 1

    @property
    def _effective(self) -> Form | None:
        """The form that counts: in a column of type `any` that of its cells' one type."""
        return FORMS.get(next(iter(self.foreign))) if self._one_foreign else self._form

    @property
    def _clashing(self) -> bool:
        return bool(self.foreign) and self._form is not None

    @cached_property
    def _possible(self) -> frozenset[Text]:
        match self._form:
            case Form.TEXT:
                return frozenset()
            case Form.NUMBER:
                return frozenset({Text.NUMBER})
            case None if self.declared == _ANY:
                return frozenset(Text)
            case None:
                return frozenset({Text.INTEGER, Text.PLAIN_INTEGER, Text.PLAIN_NUMBER})
            case _:
                return frozenset({Text.INTEGER})


def _texts(coded: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each text once; all are taken to be those of cells."""
    return pa.chunked_array([one.dictionary for one in coded.chunks], pa.string())
