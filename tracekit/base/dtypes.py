"""The types of elements that kernels are made for, by the names that MLX gives them."""

from collections.abc import Mapping
from typing import Literal, get_args

Dtype = Literal["float16", "bfloat16", "float32"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)

ITEMSIZES: Mapping[str, int] = {"float16": 2, "bfloat16": 2, "float32": 4}
"""Bytes of an element."""
