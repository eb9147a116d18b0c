"""What names a person or a machine stays out of results and pages."""

from dataclasses import replace

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.base.redaction import Redaction, own_redaction, redact_provenance

PRIVATE = (("Ada's MacBook", "<device>"), ("ada-mac", "<host>"), ("ada", "<user>"))
redact = Redaction(PRIVATE)


SHOWN = {
    "/Users/ada/kernels/x.metal": "~/kernels/x.metal",
    "/home/ada,/Users/ada/x": "~,~/x",
    'open "/Users/grace/a b"': 'open "~/a b"',
    "on Ada's MacBook now": "on <device> now",
    "ada-mac.local": "<host>.local",
    "by ada": "by <user>",
    "adaptive and Canada": "adaptive and Canada",
    "--ada 64 of ada": "--ada 64 of <user>",  # an option is not about its user
    "id 1A2B3C4D-0000-1111-2222-333344445555 ok": "id <uuid> ok",
    "phone 00008130-00045D9E30E1401C": "phone <udid>",
    "/private/var/folders/ab/cd9x/T/x": "<temporary>/T/x",
    "gpu_intervals took 3 ms": "gpu_intervals took 3 ms",
}


def test_names_are_left_out_and_the_rest_is_kept() -> None:
    assert {text: redact(text) for text in SHOWN} == SHOWN


def test_a_home_is_left_out_and_an_account_may_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/data/of ada")
    assert own_redaction()("in /data/of ada/x") == "in ~/x"
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 4_000_001)
    assert own_redaction()("plain words") == "plain words"


def test_a_common_word_is_redacted_only_as_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("done", "auto", "import", "paged", "gpu", "Metal", "mlx", "run", "host"):
        monkeypatch.setenv("LOGNAME", name)
        monkeypatch.setattr("socket.gethostname", f"{name}.local".strip)
        redaction = own_redaction()
        for words in ("The {} was {}.", "--{} {}", "a {}/other", "the {}'s clock"):
            assert redaction(words.replace("{}", name)) == words.replace("{}", name)
        for path in ("/Users/{}/x", "/home/{}", "/data/{}/x", "/data/{}.txt", "{}/x", "a/{}/b"):
            assert name not in redaction(path.replace("{}", name))
        assert redaction(f"{name}@there, me@{name}") == "<user>@there, me@<user>"
        assert redaction(f"on {name}.local now") == "on <host> now"
        assert name not in redaction(f"{name}\u2019s Mac")


def test_names_differ_from_similar_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, mini = ("ada", "<user>"), ("ada-mini", "<host>")
    for names in ([mini, ada], [ada, mini]):
        assert own_redaction(names)("ada-mini of ada") == "<host> of <user>", names
    short = own_redaction([("xo", "<user>"), ("xoc", "<host>")])
    assert short("xo met xoc") == "xo met <host>"
    assert own_redaction([("Runner", "<user>")])("by Runner") == "by Runner"  # nobody's
    monkeypatch.setattr("socket.gethostname", lambda: "mini-7.lan")
    assert own_redaction()("mini-7 is mini-7.lan") == "<host> is <host>"


def provenance(text: str) -> Provenance:
    """Return one of which every text that may name somebody says this."""
    combination = Combination("launch", counters=False, failure=text, warnings=(text,))
    return Provenance(
        recorder="xctrace",
        workload="ada",
        workloads=text,
        parameters={"weights": text, "all": [text, {"more": text}], "batch": 16},
        command=(text,),
        command_lines=((text,),),
        targets=(Process(7, text),),
        target_reason=text,
        templates=(text,),
        instruments=(text,),
        end_reason=text,
        machine={"model": text},
        capabilities=Capabilities(Identity(), "ada", (combination,)),
        clock={"source": text},
        overhead=Overhead(0.5, reason=text),
        stages={"ada": Stage("ada", "ada", text)},
        warnings=(text,),
    )


def test_every_private_field_is_redacted_and_commands_stay_usable() -> None:
    redacted_provenance = redact_provenance(provenance("/Users/ada/x by ada on ada-mac"), redact)
    assert redacted_provenance == replace(provenance("~/x by <user> on <host>"), redacted=True)


def test_values_of_environment_variables_are_left_out_of_command_lines() -> None:
    line = ("xctrace", "record", "--env", "TOKEN=se=cret", "--env=KEY=oth=er", "--launch", "a=b")
    raw_provenance = Provenance(
        command=("/bin/env", "HOME=/x", "-i", "A=b", "--a=b"), command_lines=(line,)
    )
    redacted_provenance = redact_provenance(raw_provenance, redact)
    assert redacted_provenance.command == ("/bin/env", "HOME=…", "-i", "A=…", "--a=b")
    assert redacted_provenance.command_lines == (
        ("xctrace", "record", "--env", "TOKEN=…", "--env=KEY=…", "--launch", "a=b"),
    )
