"""Labels of work, without the process and the instance that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracekit.tables.lazy import np, pa, pc, pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    if isinstance(labels.dtype, pd.CategoricalDtype):
        label_codes, distinct = pd.factorize(labels, use_na_sentinel=False)
        family_codes, names = families(pd.Series(distinct).astype("string"))
        return family_codes.take(label_codes).set_axis(labels.index), names
    if not isinstance(labels.dtype, pd.StringDtype):
        labels = labels.astype("string")
    codes, names = _code_families(pa.chunked_array(pa.array(labels)))
    return pd.Series(codes, index=labels.index, dtype="int64"), names


def kernels_of(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the family of each label."""
    codes, names = _code_families(labels)
    return pa.chunked_array([pa.array(names, pa.string()).take(pa.array(codes))])


def _code_families(labels: pa.ChunkedArray) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    texts = labels.fill_null("")
    if len(texts[:_SAMPLE].unique()) > _SAMPLE // 2:
        return _factorize_families(texts)
    coded_texts = texts.combine_chunks().dictionary_encode()
    codes, names = _factorize_families(pa.chunked_array([coded_texts.dictionary]))
    return codes[coded_texts.indices.to_numpy()], names


def _factorize_families(texts: pa.ChunkedArray) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    coded_texts = _without(INSTANCE, texts).combine_chunks().dictionary_encode()
    code_by_name: dict[str, int] = {}
    codes: list[int] = []
    for text in _without(ASKER, coded_texts.dictionary).to_pylist():
        name = text.strip() or UNLABELLED
        codes.append(code_by_name.setdefault(name, len(code_by_name)))
    return np.array(codes, np.int64)[coded_texts.indices.to_numpy()], tuple(code_by_name)


def _without(end: str, texts: Any) -> Any:
    options = pc.ReplaceSubstringOptions(pattern=end, replacement="")
    return pc.call_function("replace_substring_regex", [texts], options)
