"""What names a person or a machine stays out of results and pages."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.recording import Overhead, Process, Provenance, Stage, Used
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
        used=Used(method="ada", template=text, instruments=(text,), counter_set=text),
        templates=(text,),
        instruments=(text,),
        end_reason=text,
        machine={"model": text},
        capabilities=Capabilities(Identity(), "ada", (combination,)),
        clock={"source": text},
        overhead=Overhead(0.5, reason=text),
        stages={"ada": Stage("ada", "ada", text)},
        warnings=(text,),
        made=text,
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


def test_the_template_that_was_used_is_redacted() -> None:
    used = Used(template="/Users/max/Library/x.tracetemplate", instruments=("Max's Tool",))
    redact_max = Redaction((("Max", "<user>"),))
    shown = redact_provenance(Provenance(used=used), redact_max).used
    assert shown == Used(template="~/Library/x.tracetemplate", instruments=("<user>'s Tool",))


PUBLIC = {
    "capabilities.combinations.backend",
    "capabilities.identity.chip",
    "capabilities.identity.system_build",
    "capabilities.identity.xcode_build",
    "capabilities.probed",
    "counters",
    "created",
    "ended",
    "git_commit",
    "method",
    "recorder",
    "recorder_version",
    "stages.key.at",
    "stages.key.state",
    "started",
    "telemetry",
    "tracekit",
    "used.method",
    "workload",
}
"""The texts of a provenance that are shown as they are, on purpose."""


def fill(kind: Any, text: str) -> Any:
    """Return a value of a type, of which each field is there and each text is this one."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{field.name: fill(hints[field.name], text) for field in fields(kind)})
    arguments = get_args(kind)
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        (kind,) = (argument for argument in arguments if argument is not NoneType)
        return fill(kind, text)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        return (fill(arguments[0], text),)
    if origin is dict:
        return {"key": fill(arguments[1], text)}
    values = {str: text, Any: text, int: 7, float: 0.5, bool: False}
    assert kind in values, f"how is a {kind} redacted?"
    return values[kind]


def texts(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield each text of a document, after its path without the numbers of items."""
    if isinstance(document, str):
        yield ".".join(path), document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield from texts(value, (*path, key))
    elif isinstance(document, list | tuple):
        for value in document:
            yield from texts(value, path)


def test_every_text_of_a_provenance_is_redacted_or_public_on_purpose() -> None:
    full_provenance = fill(Provenance, "/Users/ada/x")
    redacted_provenance = redact_provenance(full_provenance, redact)
    shown = dict(texts(msgspec.to_builtins(redacted_provenance)))
    assert {path for path, text in shown.items() if text == "/Users/ada/x"} == PUBLIC
    others = {path: text for path, text in shown.items() if path not in PUBLIC}
    mode = others.pop("capabilities.combinations.mode")
    assert mode == "launch", "a mode is one of two words"
    assert set(others.values()) == {"~/x"}, others
    assert {"used.template", "used.instruments", "parameters.key"} < set(others)
