"""The weights of a model next to its `config.json`: their files.

A repository may keep the same weights twice: `consolidated.safetensors` of Mistral's own tools is
next to `model-00001-of-00003.safetensors`. The files that count are those that the index lists, as
transformers and mlx_lm load them.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, files

_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PART = re.compile(r"model-(\d+)-of-(\d+)\.safetensors")


@dataclass(frozen=True)
class WeightFiles:
    """The files of weights: their number, and their size in bytes.

    Without all of them both are 0; `reason` names the missing file, and is empty if the folder has
    no weights at all.
    """

    count: int = 0
    size: int = 0
    reason: str = ""


def find_weights(folder: Path) -> WeightFiles:
    """Return the files that the index lists, else `model.safetensors` or its parts."""
    if os.path.lexists(folder / _INDEX):
        return _find_listed(folder)
    names = sorted(file.name for file in folder.glob("model*.safetensors"))
    if _WHOLE in names:
        return _weigh(folder, [_WHOLE])
    parts = [part for part in map(_PART.fullmatch, names) if part is not None]
    if not parts:
        return _weigh(folder, names)
    total = int(parts[0][2])
    if len(parts) < total:
        return WeightFiles(reason=f"{total - len(parts)} of {total} files of weights are missing")
    if len(parts) > total:
        return WeightFiles(reason=f"more files of weights are here than the {total} of a model")
    return _weigh(folder, [part[0] for part in parts])


def _find_listed(folder: Path) -> WeightFiles:
    try:
        document: Any = msgspec.json.decode(files.read_input(folder / _INDEX))
    except (OSError, InputError, msgspec.MsgspecError, RecursionError):
        return WeightFiles(reason=f"{_INDEX} cannot be read")
    places = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(places, dict) or not places:
        return WeightFiles(reason=f"{_INDEX} lists no files")
    names = {str(name) for name in places.values()}
    strange = sorted(name for name in names if Path(name).name != name)
    if strange:
        return WeightFiles(reason=f"{_INDEX} lists {strange[0]!r}, which is not in this folder")
    return _weigh(folder, sorted(names))


def _weigh(folder: Path, names: Sequence[str]) -> WeightFiles:
    size = 0
    for name in names:
        file = folder / name
        try:
            is_file = file.is_file()
            size += file.stat().st_size
        except (OSError, ValueError):
            is_file = False
        if not is_file:
            return WeightFiles(reason=f"{name} is missing")
    return WeightFiles(len(names), size)
