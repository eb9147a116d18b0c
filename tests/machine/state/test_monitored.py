"""What a monitor said in the meantime."""

import pytest

from tracekit.machine.sources import Reading, Taken
from tracekit.machine.watch import Samples, summary


def taken(**values: float) -> Taken:
    return Taken(tuple(Reading(name, value, "") for name, value in values.items()))


def test_samples_are_given_out_once() -> None:
    samples = Samples()
    samples.add("macmon", taken(gpu_clock=1.0))
    samples.add("macmon", taken(gpu_clock=2.0))
    assert samples.since_asked(0.0) == [{"gpu_clock": 1.0}, {"gpu_clock": 2.0}]
    assert samples.since_asked(0.0) == []


def test_what_was_said_last_holds_for_a_while() -> None:
    samples = Samples()
    samples.add("macmon", taken(gpu_power=1.0))
    samples.since_asked(60.0)
    assert samples.since_asked(60.0) == [{"gpu_power": 1.0}]
    assert samples.since_asked(0.0) == []


def test_a_sample_that_says_nothing_is_none() -> None:
    samples = Samples()
    samples.add("macmon", Taken((), ("macmon: a line is no object.",)))
    assert not samples.ever.is_set()
    assert samples.since_asked(60.0) == []


def test_the_clock_is_the_median_of_the_samples_in_which_the_gpu_worked() -> None:
    samples = [
        {"gpu_clock": 4e8, "gpu_active": 0.02},
        {"gpu_clock": 1.4e9, "gpu_active": 0.9},
        {"gpu_clock": 1.2e9, "gpu_active": 0.8},
        {"gpu_clock": 1.25e9, "gpu_active": 0.5},
    ]
    known = summary(samples, "macmon")
    assert known.readings == {"gpu_clock": 1.25e9, "gpu_active": 0.65}
    assert known.absences == {}


def test_of_heat_the_worst_counts() -> None:
    samples = [{"thermal_pressure": one, "gpu_temperature": one} for one in (0.0, 0.0, 2.0)]
    known = summary(samples, "powermetrics")
    assert known.readings == {"thermal_pressure": 2.0, "gpu_temperature": 0.0}


@pytest.mark.parametrize(
    ("samples", "monitor", "why"),
    [
        ([], "", "no monitor that tells it can be read here."),
        ([], "macmon", "macmon has said nothing in the meantime."),
        ([{"gpu_active": 0.5}], "ioreg", "ioreg does not tell it."),
    ],
)
def test_an_absent_clock_has_its_reason(
    samples: list[dict[str, float]], monitor: str, why: str
) -> None:
    assert summary(samples, monitor).absences == {"gpu_clock": why}
