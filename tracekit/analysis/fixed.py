"""Tables that never change, of which pandas makes each column once."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn, Self

import pandas as pd


def _make_frame(data: Any = None, *arguments: Any, **options: Any) -> pd.DataFrame:
    if type(data) is pd.DataFrame and not arguments and not options:
        return data
    return pd.DataFrame(data, *arguments, **options)


def _make_column(data: Any = None, *arguments: Any, **options: Any) -> pd.Series:
    if type(data) is pd.Series and not arguments and not options:
        return data
    return pd.Series(data, *arguments, **options)


class FixedTable(pd.DataFrame):
    """A table that never changes, and whose columns never change.

    A small table is asked for the same columns dozens of times, and pandas would make each anew.
    Copies and parts of it are ordinary tables.
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return _make_frame

    @property
    def _constructor_sliced(self) -> Callable[..., pd.Series]:
        return _make_column

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Return a frame as a table that never changes; the frame itself may."""
        table: Any = frame.copy(deep=False)
        table.__class__ = cls
        return table

    @cached_property
    def _made_columns(self) -> dict[str, pd.Series]:
        return {}

    def __getitem__(self, key: Any) -> Any:
        """Return a column by its name, or whatever else pandas returns for a key."""
        if type(key) is not str:
            return super().__getitem__(key)
        column = self._made_columns.get(key)
        if column is None:
            column = super().__getitem__(key)
            self._made_columns[key] = column
        return column

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Raise TypeError."""
        raise TypeError("this table does not change; make a copy, or a new one with `assign`.")
