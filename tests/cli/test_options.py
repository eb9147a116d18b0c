"""A command line becomes a plan, and a plan's choices become a command line again."""

from typing import Any

import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from choice_values import choice_values
from tracekit.base.choices import LIGHT, RecordingChoices
from tracekit.cli.options import add_plan_options
from tracekit.workload.plan import Plan


def read_line(arguments: list[str]) -> Plan:
    """Return the plan of a command line, as `capture` and `record` get it."""
    plans: list[Plan] = []

    def keep(plan: Plan) -> None:
        plans.append(plan)

    app = typer.Typer(add_completion=False)
    app.command()(add_plan_options(keep, None))
    typer.main.get_command(app).main(arguments, standalone_mode=False)
    [plan] = plans
    return plan


def test_a_choice_that_is_given_alone_reaches_the_plan() -> None:
    default = RecordingChoices.from_document(read_line([]))
    assert default == RecordingChoices.from_document(Plan())
    for name, option in RecordingChoices.options():
        if option.name:
            value = choice_values()[name]
            values: dict[str, Any] = {"templates": ("Blank",), name: value}
            line = RecordingChoices(**values).arguments
            assert getattr(RecordingChoices.from_document(read_line(line)), name) == value, line


def test_a_time_limit_decides_whether_steps_are_awaited() -> None:
    assert (read_line([]).time_limit, read_line([]).steps) == (10.0, 30)
    limited = read_line(["--time-limit", "10s"])
    assert (limited.time_limit, limited.steps) == (10.0, 0)


def test_values_that_are_given_twice_count_once() -> None:
    plan = read_line(["--instrument", "A", "--instrument", "B", "--instrument", "A"])
    assert (plan.templates, plan.instruments) == (("Metal System Trace",), ("A", "B"))
    light = read_line(["--light", "--instrument", "GPU", "--instrument", "A"])
    assert (light.templates, light.instruments) == ((), (*LIGHT, "A"))


TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1)
NAMES = st.lists(TEXTS, unique=True, max_size=3).map(tuple)
TIMES = st.integers(1, 10**9).map(lambda milliseconds: milliseconds / 1000)
OTHERS = NAMES.map(lambda names: tuple(name for name in names if name not in LIGHT))
INSTRUMENTS = st.one_of(
    st.fixed_dictionaries({"templates": NAMES.filter(bool), "instruments": NAMES}),
    st.fixed_dictionaries({"instruments": OTHERS.map(lambda names: (*LIGHT, *names))}),
)
CHOICES = st.fixed_dictionaries(
    {
        "recorder": st.sampled_from(["auto", "xctrace", "host"]),
        "method": st.sampled_from(["auto", "launch", "attach"]),
        "counters": st.sampled_from(["auto", "on", "off"]),
        "telemetry": st.sampled_from(["auto", "macmon", "powermetrics", "ioreg", "off"]),
        "time_limit": TIMES,
        "after": st.none() | TIMES,
        "warmup": st.integers(0, 10**6),
        "repeats": st.none() | st.integers(1, 10**6),
        "patterns": NAMES,
        "command": st.lists(TEXTS, max_size=3).map(tuple),
    }
)


@settings(max_examples=60, deadline=None)
@given(CHOICES, INSTRUMENTS)
def test_arguments_make_the_same_choices_again(
    values: dict[str, Any], names: dict[str, Any]
) -> None:
    choices = RecordingChoices(**values, **names)
    again = RecordingChoices.from_document(read_line(choices.arguments))
    assert again.leave_out_unfollowed() == choices.leave_out_unfollowed()
