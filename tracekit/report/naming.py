"""Names as a page shows them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.base.units import NOT_AVAILABLE


def heading(name: str) -> str:
    """Return a metric's name as a heading: "gpu_idle_ratio" becomes "GPU idle ratio".

    A first word with digits in it is somebody's own name, such as "pp512", and stays as it is.
    """
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    spelled = " ".join(words)
    if any(map(str.isdigit, words[0])):
        return spelled
    return spelled[:1].upper() + spelled[1:]


def flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested values as lines: ("mlx version", "0.32")."""
    for key, value in values.items():
        name = f"{within} {key}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from flat(value, name)
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(str(one) for one in value)
        else:
            yield name, NOT_AVAILABLE if value is None else str(value)


_ACRONYMS = ("alu", "cpu", "gpu", "kv", "mlx", "ttft", "tpot", "itl", "e2e", "slo")
_SPELLED = {name: name.upper() for name in _ACRONYMS}
