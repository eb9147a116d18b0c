"""Every table of the real bundles that has an export beside it: the same cells, names included."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from direct_reading import read_directly, read_exported

pytestmark = pytest.mark.corpus

DOCUMENTED, WITHOUT_DOCUMENT = "cpu_time_profiler", "gpu_baseline"
ROWS = {
    DOCUMENTED: {
        "dyld-library-load": 0,
        "gcd-perf-event": 0,
        "life-cycle-period": 4,
        "process-info": 863,
        "thread-info": 4281,
        "time-profile": 68,
        "time-sample": 70,
    },
    WITHOUT_DOCUMENT: {
        "life-cycle-period": 4,
        "metal-application-encoders-list": 1000,
        "metal-command-buffer-completed": 1059,
        "metal-driver-event-per-thread-intervals": 0,
        "metal-driver-intervals": 2197,
        "metal-gpu-counter-intervals": 0,
        "metal-gpu-intervals": 1260,
        "metal-gpu-state-intervals": 2447,
        "metal-shader-profiler-intervals": 0,
        "time-profile": 82,
        "time-sample": 84,
    },
}
read_once = cache(read_directly)


def addresses(stack: tuple[tuple[Any, ...], ...] | None) -> list[Any]:
    return [address for _, address, *_ in stack or ()]


@pytest.mark.parametrize(
    ("bundle", "schema", "rows"),
    [(bundle, schema, rows) for bundle, tables in ROWS.items() for schema, rows in tables.items()],
)
def test_a_table_equals_its_export(corpus: Path, bundle: str, schema: str, rows: int) -> None:
    folder = next(corpus.rglob(f"{bundle}.trace"))
    found, expected = (
        read_once(folder)[schema],
        read_exported(folder.parent / f"xctrace_{bundle}_{schema}.xml"),
    )
    if (bundle, schema) == (WITHOUT_DOCUMENT, "time-profile"):
        # The names of symbols are in the document, which is missing there.
        found, expected = (
            one.assign(stack="", **{"stack.stack": [*map(addresses, one["stack.stack"])]})
            for one in (found, expected)
        )
    pd.testing.assert_frame_equal(found, expected)
    assert len(found) == rows
