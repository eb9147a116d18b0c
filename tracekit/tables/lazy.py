"""Libraries that are imported at the first use of one of their names.

pandas takes a third of a second, and many commands need none of its frames; `pyarrow.compute` takes
a tenth of that. A module that imports `pd` from here also imports `annotations` from `__future__`,
since the frames in its signatures would import pandas.
"""

import importlib
from typing import TYPE_CHECKING, Any


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import pandas as pd  # pyright: ignore[reportUnusedImport]
    import pyarrow.compute as pc  # pyright: ignore[reportUnusedImport]
else:
    pc = _LazyModule("pyarrow.compute")
    pd = _LazyModule("pandas")
