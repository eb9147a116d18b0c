"""What names a person or a machine stays out of results and pages."""

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.base.redaction import Redaction, own_redaction, redact_provenance

PRIVATE = (("Ada's MacBook", "<device>"), ("ada-mac", "<host>"), ("ada", "<user>"))
redact = Redaction(PRIVATE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("/Users/ada/kernels/x.metal", "~/kernels/x.metal", id="mac-home"),
        pytest.param("/home/ada/x", "~/x", id="linux-home"),
        pytest.param('open "/Users/grace/a b"', 'open "~/a b"', id="another-home"),
        pytest.param("on Ada's MacBook now", "on <device> now", id="device-name"),
        pytest.param("ada-mac.local", "<host>.local", id="host"),
        pytest.param("by ada", "by <user>", id="user"),
        pytest.param("adaptive and Canada", "adaptive and Canada", id="not-inside-of-words"),
        pytest.param("id 1A2B3C4D-0000-1111-2222-333344445555 ok", "id <uuid> ok", id="uuid"),
        pytest.param("phone 00008130-00045D9E30E1401C", "phone <udid>", id="udid"),
        pytest.param("/private/var/folders/ab/cd9x/T/x", "<temporary>/T/x", id="mac-temporary"),
        pytest.param("gpu_intervals took 3 ms", "gpu_intervals took 3 ms", id="nothing-private"),
    ],
)
def test_names_are_left_out_and_the_rest_is_kept(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_values_of_environment_variables_are_left_out_of_command_lines() -> None:
    provenance = Provenance(
        command_lines=(
            ("xctrace", "record", "--env", "TOKEN=secret", "--env=KEY=other", "--launch", "a=b"),
        ),
    )
    [line] = redact_provenance(provenance, redact).command_lines
    assert line == ("xctrace", "record", "--env", "TOKEN=…", "--env=KEY=…", "--launch", "a=b")


def test_an_account_without_a_home_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_001)
    assert own_redaction()("plain words") == "plain words"


def test_every_text_of_a_provenance_is_redacted_and_marked_so() -> None:
    provenance = Provenance(
        workloads="/Users/ada/work",
        command=("/Users/ada/bin/bench",),
        machine={"model": "MacBook Air", "python": {"executable": "/Users/ada/v/bin/python"}},
        targets=(Process(7, "ada"),),
        warnings=("disk of ada-mac is full",),
    )
    shown = redact_provenance(provenance, redact)
    assert shown.redacted
    assert shown.workloads == "~/work"
    assert shown.command == ("~/bin/bench",)
    assert shown.machine == {"model": "MacBook Air", "python": {"executable": "~/v/bin/python"}}
    assert shown.targets == (Process(7, "<user>"),)
    assert shown.warnings == ("disk of <host> is full",)
    assert provenance.command == ("/Users/ada/bin/bench",)


@pytest.mark.parametrize(
    "name", ["done", "auto", "import", "paged", "gpu", "Metal", "mlx", "run", "host"]
)
def test_a_name_that_is_a_word_is_left_out_only_where_it_is_a_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", name)
    monkeypatch.setattr("socket.gethostname", lambda: f"{name}.local")
    shown = own_redaction()
    for words in (
        f"The {name} was {name}.",
        f"--{name} {name}",
        f"a {name}/other",
        f"the {name}'s clock",
    ):
        assert shown(words) == words
    for path in (
        f"/Users/{name}/x",
        f"/home/{name}",
        f"/data/{name}/x",
        f"/data/{name}.txt",
        f"{name}/x",
        f"a/{name}/b",
    ):
        assert name not in shown(path)
    assert shown(f"{name}@there, me@{name}") == "<user>@there, me@<user>"
    assert shown(f"on {name}.local now") == "on <host> now"
    assert name not in shown(f"{name}\u2019s Mac")


def test_what_a_program_acts_on_stays_as_it_is() -> None:
    everything = Redaction(tuple((one, "<user>") for one in "done auto paged xctrace now".split()))
    provenance = Provenance(
        recorder="xctrace",
        workload="paged",
        stages={"record": Stage("done", "now", "done by paged")},
        warnings=("paged is done",),
    )
    shown = redact_provenance(provenance, everything)
    assert (shown.recorder, shown.workload, shown.method) == ("xctrace", "paged", "auto")
    assert shown.stages == {"record": Stage("done", "now", "<user> by <user>")}
    assert shown.warnings == ("<user> is <user>",)


def test_no_text_of_any_field_keeps_a_name() -> None:
    said = "/Users/ada/x by ada on ada-mac"
    combination = Combination("launch", counters=False, failure=said, warnings=(said,))
    provenance = Provenance(
        workloads=said,
        parameters={"weights": said, "all": [said, {"more": said}]},
        command=("env", f"HOME={said}", said),
        command_lines=((said,),),
        targets=(Process(7, said),),
        target_reason=said,
        templates=(said,),
        instruments=(said,),
        end_reason=said,
        machine={"model": said},
        capabilities=Capabilities(Identity(), "now", (combination,)),
        clock={"source": said},
        overhead=Overhead(reason=said),
        stages={"export": Stage("failed", "now", said)},
        warnings=(said,),
    )
    assert "ada" not in repr(redact_provenance(provenance, redact))


@pytest.mark.parametrize(
    ("names", "text", "shown"),
    [
        ([("max", "<user>")], "--max-blocks 64 of max", "--max-blocks 64 of <user>"),
        ([("ada-mini", "<host>"), ("ada", "<user>")], "ada-mini of ada", "<host> of <user>"),
        ([("ada", "<user>"), ("ada-mini", "<host>")], "ada-mini of ada", "<host> of <user>"),
        ([("xo", "<user>"), ("xoc", "<host>")], "xo met xoc", "xo met <host>"),  # too short
    ],
)
def test_names_are_told_from_what_looks_like_them(
    names: list[tuple[str, str]], text: str, shown: str
) -> None:
    assert own_redaction(names)(text) == shown
