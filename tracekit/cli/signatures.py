"""Commands whose options also come from a function of somebody's file."""

import inspect
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from tracekit.base.errors import InputError

FileCommand = Callable[..., None]


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function as options; what it takes by `**` is none."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    named = [one for one in parameters if one.kind is not one.VAR_KEYWORD]
    return [one.replace(kind=one.KEYWORD_ONLY) for one in named]


def brought(
    function: Callable[..., Any], owner: str, file: Path, taken: Collection[str]
) -> list[inspect.Parameter]:
    """Return the options that a function in somebody's file brings to a command.

    Args:
        function: The function.
        owner: What messages call it, such as "the workload paged".
        file: Where it stands.
        taken: The options that the command has itself.

    Raises:
        InputError: One is the command's own, or lacks a type or a default.
    """
    parameters = options_of(function)
    for one in parameters:
        if one.name in taken:
            raise InputError(
                f"{owner[0].upper()}{owner[1:]} has a parameter {one.name!r}, which is an option "
                "of tracekit itself.",
                hint=f"Give it another name in {file}.",
            )
        if one.annotation is one.empty or one.default is one.empty:
            lacking = "type" if one.annotation is one.empty else "default"
            raise InputError(
                f"The parameter {one.name!r} of {owner} lacks its {lacking}.",
                hint=f"Write it like `{one.name}: int = 1` in {file}.",
            )
    return parameters


def signed(wrapper: FileCommand, parameters: Sequence[inspect.Parameter]) -> FileCommand:
    """Give a wrapped command the signature that its options are read from."""
    vars(wrapper).pop("__wrapped__", None)
    wrapper.__signature__ = inspect.Signature(parameters)
    wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapper
