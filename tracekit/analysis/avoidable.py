"""Work whose name identifies it as a copy or a sort, in any program.

Names are split into words: at signs, at capitals, and between letters and digits. Because programs
join words without a sign, a word is recognized whole, by its beginning or by its end:
`asort_desc_f32` (candle), `kernel_argsort_f32_i32_desc` and `kernel_cpy_f32_f16` (ggml),
`carg_block_sort`, `mbsort` and `g3_copyfloat16bfloat16` (MLX), `radixSortReorder` (shaders of
WebGPU). A name that also has a word for computing work is neither a copy nor a sort.
"""

import re
from enum import Enum


class Avoidable(Enum):
    """A kind of work that computes no part of the requested result."""

    COPY = "copies"
    SORT = "sorts"


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words for computing work, whatever follows; a transposed convolution is not a transposition.
_COMPUTES = re.compile(
    r"attention|attn|sdpa|gemm|gemv|matmul|mulm[mv]|qmm|qmv|norm|conv|softmax|rope|fft|flash|resort"
)
_COPIES = re.compile(
    r"(?<![a-z])((mem|u)?copy|(mem)?cpy|cast|contiguous|as ?type|transpose|concat)"
)
_WHOLE_COPIES = re.compile(r"(?<![a-z])(cont|cat|dup)(?![a-z])")
_SORTS = re.compile(r"sort(?![a-z])|(?<![a-z])(arg ?)?partition|(?<![a-z])top ?k(?![a-z])|bitonic")


def words_of_kernel(name: str) -> str:
    """Return the words of a name in lower case, separated by blanks."""
    return " ".join(_WORD.findall(name)).lower()


def avoidable(name: str) -> Avoidable | None:
    """Return the kind of avoidable work that a name denotes; None for all other work."""
    words = words_of_kernel(name)
    if _COMPUTES.search(words.replace(" ", "")):
        return None
    if _SORTS.search(words):
        return Avoidable.SORT
    if _COPIES.search(words) or _WHOLE_COPIES.search(words):
        return Avoidable.COPY
    return None
