"""Libraries that are imported at the first use of one of their names.

pandas takes a third of a second, and many commands need none of its frames; numpy and pyarrow take
a quarter of that, and `pyarrow.compute` a tenth. A module that imports one of them from here also
imports `annotations` from `__future__`, since the types in its signatures would import it.
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
    import numpy as np  # pyright: ignore[reportUnusedImport]
    import pandas as pd  # pyright: ignore[reportUnusedImport]
    import pyarrow as pa  # pyright: ignore[reportUnusedImport]
    import pyarrow.compute as pc  # pyright: ignore[reportUnusedImport]
    import pyarrow.parquet as pq  # pyright: ignore[reportUnusedImport]
else:
    np = _LazyModule("numpy")
    pa = _LazyModule("pyarrow")
    pc = _LazyModule("pyarrow.compute")
    pd = _LazyModule("pandas")
    pq = _LazyModule("pyarrow.parquet")
