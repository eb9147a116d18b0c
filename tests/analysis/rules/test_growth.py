"""What grows over iterations, and what is uneven by its work: `growing-steps`, `uneven-work`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import given, table
from stock import Stock, jitter
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES

GIB = 1 << 30


def judge(rule: str, stock: Stock, **tables: Any) -> list[Finding]:
    return list(inject(RULES[rule].judge, given(**{**stock.tables(), **tables})))


def loop(works: Sequence[float], host: float = 300, *, runs_ahead: bool = False) -> Stock:
    stock = Stock()
    for work, factor in zip(works, jitter(len(works), 0.01), strict=True):
        stock.buffer([work * factor / 2] * 2)
        if runs_ahead:
            stock.run_ahead()
        else:
            stock.wait()
        stock.spend(host)
    return stock


def levels(stock: Stock, sizes: Sequence[float]) -> pd.DataFrame:
    """Let memory have these levels (GiB), in equal parts of the program's time."""
    part = stock.done / len(sizes)
    rows = [(place * part, part, round(size * GIB)) for place, size in enumerate(sizes)]
    return table("start duration size", *rows, unit=1_000, target=True, pid=4711)


LINE = np.linspace(10_000, 20_000, 80).tolist()


def growing(stock: Stock, **tables: Any) -> list[Finding]:
    return judge("growing-steps", stock, **tables)


@pytest.mark.parametrize("ahead", [True, False])
def test_a_line_has_a_slope_an_interval_and_a_forecast(*, ahead: bool) -> None:
    [finding] = growing(loop(LINE, runs_ahead=ahead))
    assert finding.fact("even")
    assert finding.fact("first") == pytest.approx(10e6, rel=0.01)
    assert finding.fact("last") == pytest.approx(20e6, rel=0.01)
    lower, slope, upper = (finding.fact(name) for name in ("lower", "slope", "upper"))
    assert isinstance(lower, float)
    assert lower < 10e6 / 79 < upper  # pyright: ignore[reportOperatorIssue]
    assert slope == pytest.approx(10e6 / 79, rel=0.02)
    assert finding.fact("then") == pytest.approx(30e6, rel=0.02)


@pytest.mark.parametrize(
    ("last", "number"),
    [(20_000, 1), (13_000, 1), (12_300, 0), (10_500, 0), (10_000, 0), (5_000, 0)],
)
def test_a_rise_counts_from_a_quarter_on(last: float, number: int) -> None:
    assert len(growing(loop(np.linspace(10_000, last, 80).tolist()))) == number


def test_noise_and_swings_are_not_growth() -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        assert not growing(loop((10_000 * random.lognormal(0, 0.3, 80)).tolist())), seed
    assert not growing(loop([10_000, 15_000] * 40))
    assert not growing(loop((10_000 + 4_000 * np.sin(np.arange(80) / 5)).tolist()))


def test_knowledge_of_memory_decides_how_much_growth_matters() -> None:
    stock = loop(LINE)
    rising, level = (levels(stock, sizes) for sizes in (np.linspace(4, 8, 80), [4.0] * 80))
    [joint] = growing(stock, allocated_sizes=rising)
    [alone] = growing(stock, allocated_sizes=level)
    [unknown] = growing(stock)
    assert [finding.severity for finding in (joint, alone, unknown)] == [
        Severity.WARNING,
        Severity.NOTE,
        Severity.WARNING,
    ]
    assert [finding.lever for finding in (joint, alone, unknown)] == [
        "growing-work",
        "growing-input",
        "growing-input",
    ]
    assert joint.fact("memory_slope") == pytest.approx(4 * GIB / 79, rel=0.05)
    assert alone.fact("memory_slope") is None


def test_a_joint_rise_is_said_once() -> None:
    stock = loop(LINE)
    for place in range(80):
        cells = {"event": "Allocation", "size": (1 + place) << 20, "type": "Buffer"}
        for more in range(3):
            stock.add("resource_allocations", stock.done / 81 * place + more, **cells)
    rising = levels(stock, np.linspace(4, 8, 80).tolist())
    [finding] = growing(stock, allocated_sizes=rising)
    assert (finding.fact("allocations"), finding.fact("larger")) == (3, True)
    for rule in ("memory-growth", "hot-allocations"):
        assert not judge(rule, stock, allocated_sizes=rising), rule
    even = loop([10_000] * 80)
    assert judge(
        "memory-growth", even, allocated_sizes=levels(even, np.linspace(4, 8, 80).tolist())
    )


def test_a_falling_clock_or_another_process_is_not_growth() -> None:
    for part in (0.5, 1.0):
        stock = loop(LINE)
        fall_time = part * stock.done
        stock.add("gpu_performance_states", 0, fall_time, state="Maximum", induced=False, label="")
        stock.add(
            "gpu_performance_states",
            fall_time,
            stock.done - fall_time,
            state="Medium",
            induced=False,
        )
        assert bool(growing(stock)) is (part == 1.0)
    stock = loop(LINE)
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Fragment", "label": "x"}
    stock.add("gpu_intervals", stock.done / 2, stock.done / 2, **cells)
    assert not growing(stock)


def test_more_host_work_differs_from_more_device_work() -> None:
    stock = Stock()
    for place, factor in enumerate(jitter(80, 0.01)):
        stock.buffer([10_000 * factor])
        stock.wait()
        stock.spend(500 + 100 * place)
    [finding] = growing(stock)
    assert (finding.lever, finding.wording) == ("growing-host", "growing-steps-host")
    assert finding.fact("slope") == pytest.approx(1e5, rel=0.02)


def test_the_name_of_the_work_that_grows_is_known_where_work_has_names() -> None:
    stock = Stock()
    for work in LINE:
        stock.buffer([5_000, work - 5_000], names=("gemm", "attention"))
        stock.wait()
    [finding] = growing(stock)
    assert str(finding.fact("grown")).endswith("attention")
    assert finding.fact("grown_share") == pytest.approx(1, abs=0.01)


def test_short_loops_are_not_judged() -> None:
    with pytest.raises(Unavailable, match="a trend takes 16"):
        growing(loop(LINE[:12]))


def uneven(works: Sequence[float], **tables: Any) -> list[Finding]:
    return judge("uneven-work", loop(works), **tables)


def test_uneven_work_is_named_by_its_kind() -> None:
    random = np.random.default_rng(3)
    chance = random.random(200)
    wordings = {
        "uneven-work-rounds": [10_000] * 9 + [30_000],
        "uneven-work-kinds": np.where(chance < 0.4, 20_000, 10_000),
        "uneven-work-spread": 10_000 * random.lognormal(0, 0.4, 200),
    }
    for wording, works in wordings.items():
        row = np.asarray(works, float)
        [finding] = uneven((row if row.size == 200 else np.tile(row, 20)).tolist())
        assert (finding.wording, finding.severity) == (wording, Severity.NOTE)
    assert not uneven((10_000 * random.lognormal(0, 0.05, 200)).tolist())
    assert not uneven([10_000] * 100 + [20_000] * 100)  # performance-cliff judges it


ODD = frozenset({23, 41, 50, 78, 97, 120, 133, 171, 180})


def odd_ones(pieces: int, *, has_neighbour: bool = False) -> Stock:
    """Let a few iterations take four times as long, in so many times as many pieces."""
    stock = Stock()
    cells = {"process": "WindowServer", "pid": 420, "target": False, "label": "frame"}
    for place, factor in enumerate(jitter(200, 0.02)):
        times = pieces if place in ODD else 1
        work = 10_000 * factor * (4 if place in ODD else 1)
        stock.buffer([work / times] * times)
        if has_neighbour and place in ODD:
            stock.add(
                "gpu_intervals",
                stock.device_free_time - 30_000,
                30_000,
                channel="Fragment",
                **cells,
            )
        stock.wait()
    return stock


def test_a_few_that_do_more_are_other_work_and_a_few_that_take_longer_are_spikes() -> None:
    other_work, same_work = odd_ones(4), odd_ones(1)
    [finding] = judge("uneven-work", other_work)
    assert (finding.wording, finding.fact("few")) == ("uneven-work-few", len(ODD))
    assert not judge("step-spikes", other_work)
    assert not judge("uneven-work", same_work)
    [finding] = judge("step-spikes", same_work)
    assert finding.fact("causes") == "the device worked longer for the target"


def test_device_time_next_to_another_process_is_blamed_on_it() -> None:
    """On whatever channel: in all real recordings of the corpus it is the window server's."""
    [finding] = judge("step-spikes", odd_ones(1, has_neighbour=True))
    assert finding.fact("causes") == "other processes used the GPU"
    assert not judge("uneven-work", odd_ones(4, has_neighbour=True))
