"""Which tables are exported: what is needed, all, or what a user names."""

from collections.abc import Iterator, Mapping

import pandas as pd
import pytest

from tracekit.analysis.given import GIVEN
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Measurement, Result
from tracekit.base.errors import UsageError
from tracekit.base.recording import Provenance
from tracekit.pages.panels import PANELS
from tracekit.pipeline import needed_tables, wanted_tables
from tracekit.tables.schemas import SCHEMAS

METAL = frozenset(
    "metal-gpu-intervals metal-gpu-state-intervals metal-gpu-counter-intervals gpu-counter-value "
    "gpu-counter-info metal-application-encoders-list metal-object-label time-profile kdebug tick "
    "os-signpost a-new-one".split()
)
HUGE = {"gpu-counter-value", "kdebug", "metal-object-label"}


class Noting(Mapping[str, pd.DataFrame]):
    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> pd.DataFrame:
        self.asked.add(name)
        if name not in SCHEMAS:
            raise KeyError(name)
        return pd.DataFrame(columns=[column.name for column in SCHEMAS[name].columns])

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEMAS)

    def __len__(self) -> int:
        return len(SCHEMAS)


def test_panels_say_which_tables_they_read() -> None:
    metrics = tuple(
        Measurement(metric.name, 1, metric.unit, metric.better) for metric in METRICS.values()
    )
    for panel in PANELS:
        tables = Noting()
        panel.context(Result(Provenance(), metrics=metrics), tables)
        assert tables.asked <= needed_tables() | GIVEN, panel.name


def test_a_capture_exports_no_gigabytes_that_nobody_asked_for() -> None:
    chosen = wanted_tables("needed")(METAL)
    assert METAL - chosen == HUGE | {"gpu-counter-info", "tick", "a-new-one"}
    raw = wanted_tables("needed")(METAL - {"metal-gpu-counter-intervals"})
    assert {"gpu-counter-value", "gpu-counter-info"} <= raw, "where there are no other counters"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gpu_states", {"metal-gpu-state-intervals"}),
        ("cpu_profile, kdebug", {"time-profile", "kdebug"}),
        ("a-new-one", {"a-new-one"}),
        ("not-recorded", {"not-recorded"}),
        ("vsyncs", {"display-vsyncs-interval"}),
        ("shader_runs", {"metal-shader-profiler-intervals", "metal-shader-profiler-shader-list"}),
        ("all", METAL),
        ("all,kdebug", METAL),
        (
            "gpu_jobs",
            {"metal-gpu-intervals", "metal-application-encoders-list", "metal-object-label"},
        ),
    ],
)
def test_a_user_names_tables_of_ours_or_schemas_of_apple_s(words: str, expected: set[str]) -> None:
    assert wanted_tables(words)(METAL) == expected


@pytest.mark.parametrize(
    ("words", "name"),
    [("gpu_interval", "gpu_interval"), ("needed,gpu_jbs", "gpu_jbs"), ("", ""), (" , ", " , ")],
)
def test_impossible_tables_are_refused_before_any_export(words: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"There is no table '{name}' to export"):
        wanted_tables(words)
