"""The choices of a recording: from document to document, and as arguments of a command line."""

from dataclasses import replace
from pathlib import Path

import msgspec

from choice_values import choice_values
from tracekit.base.choices import LIGHT, RecordingChoices
from tracekit.base.recording import Provenance
from tracekit.nightly.plan.plan import Capture
from tracekit.workload.plan import Plan
from tracekit.workload.worker.spec import Spec


def test_every_choice_reaches_every_document_that_has_it() -> None:
    values = choice_values()
    plan = Plan(output=Path("run"), steps=5, **values)
    assert RecordingChoices.from_document(plan) == RecordingChoices(**values)
    provenance = Provenance(workload="paged", **plan.share_with(Provenance))
    assert RecordingChoices.from_document(provenance) == RecordingChoices(**values)
    assert plan.share_with(Spec) == {"parameters": {"batch": 3}, "warmup": 7, "repeats": 9}
    capture = Capture(name="decode", workload="paged", time_limit=2.0, program=("ls",))
    assert RecordingChoices.from_document(capture) == RecordingChoices(
        recorder="auto", templates=("Metal System Trace",), time_limit=2.0, warmup=5
    )


def test_a_provenance_keeps_its_choices_as_keys_of_its_own() -> None:
    values = choice_values()
    provenance = Provenance(tracekit="0.1.0", **values)
    document = msgspec.json.encode(provenance)
    assert values.keys() <= msgspec.json.decode(document).keys()
    assert msgspec.json.decode(document, type=Provenance) == provenance
    assert msgspec.json.decode(b"{}", type=Provenance) == Provenance()


def test_choices_are_written_as_arguments_in_one_order() -> None:
    choices = RecordingChoices(**choice_values())
    assert choices.arguments == [
        *("--batch", "3", "--recorder", "xctrace", "--method", "attach", "--counters", "on"),
        *("--telemetry", "macmon", "--template", "Time Profiler", "--template", "Other"),
        *("--instrument", "Points of Interest", "--time-limit", "1.25s", "--after", "0.5s"),
        *("--warmup", "7", "--repeats", "9", "--read", "rate:token/s:higher:rate (\\d+)"),
        *("--", "./probe", "--fast"),
    ]
    assert RecordingChoices(recorder="auto").arguments == []


def test_values_are_written_as_the_command_line_reads_them() -> None:
    parameters = {"size": -3, "ragged": True, "causal": False, "kernel": None, "lengths": [1, 2]}
    assert RecordingChoices(parameters=parameters).arguments == [
        *("--size=-3", "--ragged", "--no-causal", "--lengths", "1", "--lengths", "2"),
    ]
    for seconds, text in (
        (10.0, "10s"),
        (0.00001, "0.00001s"),
        (1234567.0, "1234567s"),
        (0.2, "0.2s"),
        (100, "100s"),
    ):
        arguments = RecordingChoices(time_limit=seconds).arguments
        assert arguments == ["--time-limit", text], seconds
    light = RecordingChoices(instruments=(*LIGHT, "Points of Interest"))
    assert light.arguments == ["--light", "--instrument", "Points of Interest"]
    added = replace(light, templates=("Blank",), instruments=("GPU",))
    assert added.arguments == ["--template", "Blank", "--instrument", "GPU"]


def test_choices_of_xctrace_are_not_stated_for_another_recorder() -> None:
    choices = RecordingChoices(**choice_values())
    assert choices.leave_out_unfollowed() == choices
    host = replace(choices, recorder="host")
    assert host.leave_out_unfollowed() == replace(host, method="auto", templates=(), instruments=())
    assert not {"--method", "--template", "--instrument"} & set(host.arguments)


def test_options_that_differ_from_the_defaults_of_a_plan_are_found() -> None:
    assert Plan().find_given_options() == []
    assert Plan(output=Path("run")).find_given_options() == []
    plan = Plan(templates=(), instruments=LIGHT, time_limit=3, warmup=1)
    assert plan.find_given_options() == ["--light", "--time-limit", "--warmup"]
    assert plan.find_given_options(("warmup", "parameters")) == ["--light", "--time-limit"]
    assert Plan(templates=("-mine",)).find_given_options() == ["--template"]
