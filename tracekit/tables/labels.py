"""Labels of work, without the process and the instance that they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.lazy import pc, pd

UNLABELLED = "unlabelled"

# A trace labels work "Command Buffer 0:Compute Command 0   ( python3 (4711) )  0xf169adeb":
# the process and the instance have columns of their own.
BLANK = r"[\s\v\x1c-\x1f\x{85}\p{Z}]"
INSTANCE = rf"{BLANK}+0x[0-9a-fA-F]+{BLANK}*$"
ASKER = rf"{BLANK}*\( .* \){BLANK}*$"
_SAMPLE = 4096


def families(labels: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return a code for each label and the distinct families that the codes represent.

    A family is a label without the process and the instance that it names at its end.
    """
    texts = labels.fillna("")
    if not isinstance(texts.dtype, pd.StringDtype):
        texts = texts.astype("string")
    if texts[:_SAMPLE].nunique() > _SAMPLE // 2:
        codes, names = _factorize_families(texts)
    else:
        label_codes, distinct = pd.factorize(texts)
        distinct_labels = pd.Series(distinct, dtype="string")
        family_codes, names = _factorize_families(distinct_labels)
        codes = family_codes[label_codes]
    return pd.Series(codes, index=labels.index, dtype="int64"), names


def kernels_of(labels: pd.Series) -> pd.Series:
    """Return the family of each label."""
    codes, names = families(labels)
    distinct_kernels = pd.Series(names, dtype="string")
    kernels = distinct_kernels.take(codes.to_numpy())
    return kernels.set_axis(labels.index)


def _factorize_families(texts: pd.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    text_array = pa.array(texts, pa.string(), from_pandas=True)
    all_texts = pa.chunked_array(text_array)
    encoded_texts = _without(INSTANCE, all_texts).combine_chunks().dictionary_encode()
    shorter = _without(ASKER, encoded_texts.dictionary)
    names = [text.strip() or UNLABELLED for text in shorter.to_pylist()]
    name_array = np.array(names, dtype=object)
    codes, distinct = pd.factorize(name_array)
    text_codes = encoded_texts.indices.to_numpy()
    return codes[text_codes], tuple(distinct)


def _without(end: str, texts: Any) -> Any:
    options = pc.ReplaceSubstringOptions(pattern=end, replacement="")
    return pc.call_function("replace_substring_regex", [texts], options)
