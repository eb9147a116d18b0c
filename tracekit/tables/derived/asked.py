"""Which tables a join asks for: its signature is the declaration."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args


@dataclass(frozen=True)
class Asked:
    """The names of tables: those without which there is no join, and those that add to it."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


def asked(join: Callable[..., Any]) -> Asked:
    """Read from its signature what a join asks for."""
    parameters = inspect.signature(join, eval_str=True).parameters
    optional = {name for name, one in parameters.items() if type(None) in get_args(one.annotation)}
    return Asked(
        tuple(name for name in parameters if name not in optional),
        tuple(name for name in parameters if name in optional),
    )
