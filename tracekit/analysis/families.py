"""Families of labels, so that equal work has an equal name."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

UNLABELLED = "unlabelled"

# A trace labels work "Command Buffer 0:Compute Command 0   ( python3 (4711) )  0xf169adeb":
# who asked and which instance it was stand in columns of their own.
BLANK = r"[\s\v\x1c-\x1f\x{85}\p{Z}]"
INSTANCE = rf"{BLANK}+0x[0-9a-fA-F]+{BLANK}*$"
ASKER = rf"{BLANK}*\( .* \){BLANK}*$"
_SAMPLE = 4096


def families(labels: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return a code for each label and the distinct families that the codes stand for.

    A family is a label without the process and the instance that it names at its end.
    """
    texts = labels.fillna("")
    if not isinstance(texts.dtype, pd.StringDtype):
        texts = texts.astype("string")
    if texts[:_SAMPLE].nunique() > _SAMPLE // 2:
        codes, names = _named(texts)
    else:
        own, distinct = pd.factorize(texts)
        found, names = _named(pd.Series(distinct, dtype="string"))
        codes = found[own]
    return pd.Series(codes, index=labels.index, dtype="int64"), names


def _named(texts: pd.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    shorter = pa.chunked_array(pa.array(texts, pa.string(), from_pandas=True))
    for end in (INSTANCE, ASKER):
        without = pc.ReplaceSubstringOptions(pattern=end, replacement="")
        shorter = pc.call_function("replace_substring_regex", [shorter], without)
    once = shorter.combine_chunks().dictionary_encode()
    names = [text.strip() or UNLABELLED for text in once.dictionary.to_pylist()]
    codes, distinct = pd.factorize(np.array(names, dtype=object))
    return codes[once.indices.to_numpy()], tuple(distinct)
