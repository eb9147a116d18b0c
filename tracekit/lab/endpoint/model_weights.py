"""The weights of a model next to its `config.json`: their files and their bits.

A repository may keep the same weights twice: `consolidated.safetensors` of Mistral's own tools is
next to `model-00001-of-00003.safetensors`. The files that count are those that the index lists, as
transformers and mlx_lm load them.

The bits are those of the config: MLX's affine quantization keeps a scale and a bias of 16 bits for
each group of weights, its other modes a scale of 8 bits. `mxfp4` without bits is that of gpt-oss:
experts have 4 bits and a scale of 8 bits for 32 weights, the others those of the model.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, files

_AFFINE_BITS = 32  # of scale and bias of a group
_SCALE_BITS = 8  # of a group in the other modes
_MXFP4_BITS = 4.25
_MOST_BITS = 64
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


@dataclass(frozen=True)
class WeightBits:
    """Bits of a weight: by themselves, with those of its group, and the quantization in words.

    Without `with_group` they are not known, for the `reason`. With `experts_only` they are those of
    experts, and the other weights are not quantized.
    """

    bits: int
    with_group: float | None
    words: str = ""
    experts_only: bool = False
    reason: str = ""


def read_bits(values: dict[str, Any], item_bits: int) -> WeightBits:
    """Return the bits of a weight; those of an element without quantization."""
    settings = values.get("quantization") or values.get("quantization_config")
    if not settings:
        return WeightBits(item_bits, item_bits)
    if not isinstance(settings, dict):
        return WeightBits(0, None, "quantized", reason="its quantization is not understood")
    bits = settings.get("bits")
    if bits is None:
        return _read_method(str(settings.get("quant_method") or "without a method"))
    if type(bits) is not int or not 1 <= bits <= _MOST_BITS:
        return WeightBits(0, None, "quantized", reason=f"{bits!r} is not a number of bits")
    group = settings.get("group_size")
    if type(group) is not int or group < 1:
        return WeightBits(bits, bits, f"{bits} bits")
    group_bits = _SCALE_BITS
    if settings.get("mode", "affine") == "affine":
        group_bits = _AFFINE_BITS
    return WeightBits(bits, bits + group_bits / group, f"{bits} bits in groups of {group}")


def _read_method(method: str) -> WeightBits:
    """Return the bits of a method of quantization that states none."""
    if method == "fp8":
        return WeightBits(8, 8, "8 bits")
    if method == "mxfp4":
        return WeightBits(4, _MXFP4_BITS, "experts of 4 bits in groups of 32", experts_only=True)
    return WeightBits(0, None, method, reason=f"its quantization {method} has no bits")
