"""The transposes in the graph that MLX builds for a call: their length, place and reader."""

from collections.abc import Callable, Sequence
from itertools import chain
from math import prod
from typing import Any

import mlx.core as mx

from tracekit.lab.bench.document import GraphTranspose

_NAME = "Transpose"
_RESULT = "the result"


def list_transposes(function: Callable[[], Any]) -> tuple[GraphTranspose, ...]:
    """Trace a function of MLX, which is not computed, and return its transposes in order.

    The function returns an array, or nested lists and tuples of arrays. Its graph has no operation
    that no result depends on. Raises RuntimeError or ValueError if MLX cannot trace it.
    """
    operations: list[dict[str, Any]] = []

    def keep(entry: dict[str, Any]) -> None:
        if entry.get("type") == "primitive":
            operations.append(entry)

    mx.export_function(keep, lambda: _flatten(function()))
    readers: dict[int, str] = {}
    for operation in reversed(operations):
        for identifier in _identifiers(operation["inputs"]):
            readers[identifier] = operation["name"]
    transposes: list[GraphTranspose] = []
    for place, operation in enumerate(operations, start=1):
        if operation["name"] != _NAME:
            continue
        (identifier,) = _identifiers(operation["outputs"])
        shape = tuple(operation["outputs"][0][1])
        reader = readers.get(identifier, _RESULT)
        transposes.append(GraphTranspose(place, len(operations), shape, prod(shape), reader))
    return tuple(transposes)


def _identifiers(arrays: Sequence[Sequence[Any]]) -> list[int]:
    return [array[0] for array in arrays]


def _flatten(results: Any) -> list[mx.array]:
    if isinstance(results, mx.array):
        return [results]
    return list(chain.from_iterable(map(_flatten, results)))
