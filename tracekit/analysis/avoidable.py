"""Work that its name calls a copy or a sort, whatever the program.

Names are split into words: at signs, at capitals, and between letters and digits. A word decides
by itself or by how it begins or ends, as programs join words without a sign: `asort_desc_f32`
(candle), `kernel_argsort_f32_i32_desc` and `kernel_cpy_f32_f16` (ggml), `carg_block_sort`,
`mbsort` and `g3_copyfloat16bfloat16` (MLX), `radixSortReorder` (shaders of WebGPU). A name that
also has a word for work that computes is neither.
"""

import re
from enum import Enum


class Avoidable(Enum):
    """A kind of work that computes nothing of what was asked for."""

    COPY = "copies"
    SORT = "sorts"


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# What computes, however the name goes on; a transposed convolution is no transposition.
_COMPUTES = re.compile(
    r"attention|attn|sdpa|gemm|gemv|matmul|mulm[mv]|qmm|qmv|norm|conv|softmax|rope|fft|flash|resort"
)
_COPIES = re.compile(
    r"(?<![a-z])((mem|u)?copy|(mem)?cpy|cast|contiguous|as ?type|transpose|concat)"
)
_WHOLE_COPIES = re.compile(r"(?<![a-z])(cont|cat|dup)(?![a-z])")
_SORTS = re.compile(r"sort(?![a-z])|(?<![a-z])(arg ?)?partition|(?<![a-z])top ?k(?![a-z])|bitonic")


def words_of_kernel(name: str) -> str:
    """Return the words of a name in small letters, with a blank between each two."""
    return " ".join(_WORD.findall(name)).lower()


def avoidable(name: str) -> Avoidable | None:
    """Return the kind of avoidable work that a name stands for; None for all other work."""
    words = words_of_kernel(name)
    if _COMPUTES.search(words.replace(" ", "")):
        return None
    if _SORTS.search(words):
        return Avoidable.SORT
    if _COPIES.search(words) or _WHOLE_COPIES.search(words):
        return Avoidable.COPY
    return None
