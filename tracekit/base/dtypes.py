"""The types of elements that kernels are made for, by the names that MLX gives them."""

from collections.abc import Mapping
from typing import Literal, get_args

DtypeName = Literal["float16", "bfloat16", "float32"]
DTYPES: tuple[DtypeName, ...] = get_args(DtypeName)

ITEMSIZES: Mapping[str, int] = {"float16": 2, "bfloat16": 2, "float32": 4}
"""Bytes of an element."""
