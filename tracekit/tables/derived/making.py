"""Calling a join with the tables it asks for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from tracekit.base.errors import InputError
from tracekit.tables.derived.asked import asked
from tracekit.tables.derived.joined import Joined, conformed
from tracekit.tables.schema import Schema

Made = tuple[pd.DataFrame, list[str]]


def first_with_rows(name: str, ways: Sequence[Callable[[], Made]]) -> Made:
    """Return what the first of some ways to a table gives that gives rows.

    Where none does, the first that can be read counts. What cannot be read is an error only if
    no other way is left.
    """
    found: pd.DataFrame | None = None
    warnings: list[str] = []
    for place, way in enumerate(ways, 1):
        try:
            table, said = way()
        except InputError as error:
            if place == len(ways) and found is None:
                raise
            warnings.append(f"{name}: {error.message}")
            continue
        warnings += said
        if len(table):
            return table, warnings
        found = table if found is None else found
    assert found is not None, "there is at least one way"
    return found, warnings


def made(schema: Schema, join: Callable[..., Any], tables: Mapping[str, pd.DataFrame]) -> Made:
    """Return the table that `join` makes, and what is to be said about it.

    Raises:
        KeyError: A table is missing without which there is no join.
    """
    names, warnings = asked(join), list[str]()
    arguments: dict[str, pd.DataFrame | None] = {name: tables[name] for name in names.required}
    for name in names.optional:
        try:
            arguments[name] = tables.get(name)
        except InputError as error:
            arguments[name] = None
            warnings.append(f"{schema.name} does without {name}: {error.message}")
    joined: Joined = join(**arguments)
    return conformed(joined, schema), [
        *warnings,
        *(f"{schema.name}: {warning}" for warning in joined.warnings),
    ]
