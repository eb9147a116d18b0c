"""Compiled templates: kept in tracekit's own folder, and made again if they are damaged."""

from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest

from tracekit.pages.compiled import CompiledTemplates

WORDS = {"hello": "Hello {{ name }}."}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path))
    return tmp_path / "templates"


def say(words: dict[str, str] = WORDS, settings: bytes = b"") -> str:
    cache = CompiledTemplates(settings)
    loader = jinja2.DictLoader(words)
    environment = jinja2.Environment(loader=loader, autoescape=True, bytecode_cache=cache)
    return environment.get_template("hello").render(name="reader")


def forbid(*_: object, **__: object) -> str:
    raise AssertionError("it was compiled again")


def test_a_template_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert say() == "Hello reader."
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(jinja2.Environment, "compile", forbid)
    assert say() == "Hello reader."


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "half": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "other code": lambda content: content[:16] + b"N",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_template_is_compiled_again(folder: Path, name: str) -> None:
    say()
    [file] = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(CHANGES[name](whole))
    assert say() == "Hello reader."
    assert file.read_bytes() == whole


@pytest.mark.usefixtures("folder")
def test_other_words_and_other_settings_are_compiled_again() -> None:
    say()
    assert say({"hello": "Good day, {{ name }}."}) == "Good day, reader."
    assert say(WORDS, b"other") == "Hello reader."


def test_a_folder_that_cannot_be_made_is_not_an_error(folder: Path) -> None:
    folder.write_text("a file")
    assert say() == "Hello reader."
