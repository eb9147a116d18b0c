"""`tracekit list templates`, with a fake Xcode and without one."""

import os
import plistlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error
from every_command import stock_template

PATH = os.environ["PATH"]


@pytest.fixture(autouse=True)
def no_xcode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    file = tmp_path / "stock.tracetemplate"
    file.write_bytes(stock_template())
    return file


@pytest.mark.processes
def test_templates_are_listed_by_section(tracekit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Path(__file__).parents[1] / "fake_xctrace" / "bin"
    monkeypatch.setenv("PATH", f"{fake}:{PATH}")
    result = tracekit("list", "templates")
    assert result.code == 0
    assert "Standard Templates\tTime Profiler\n" in result.out
    assert "Standard Templates\tMetal System Trace\n" in result.out
    assert "--counters on adds the instrument Metal GPU Counters" in result.err


def test_a_machine_without_xctrace_is_reported(tracekit: Any) -> None:
    result = tracekit("list", "templates")
    assert_error(result, 3, "There is no xctrace on this machine.")
    assert result.out == ""


def test_making_is_a_dry_run_with_every_place(tracekit: Any, stock: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.tracetemplate"
    result = tracekit(
        "list", "templates", "make", output, "--from", stock, "--counter-profile", "13"
    )
    assert result.code == 0
    names = ("counterprofile", "counterprofileinternal")
    assert result.out.splitlines() == [f"object 1: {name}\t0\t13" for name in names]
    assert "Nothing was written" in result.err
    assert not output.exists()


def test_a_template_is_made_and_its_path_shown(tracekit: Any, stock: Path, tmp_path: Path) -> None:
    bytes_before = stock.read_bytes()
    output = tmp_path / "with space.tracetemplate"
    options = ["--counter-profile", "13", "--shader-timeline", "on", "--write"]
    result = tracekit("list", "templates", "make", output, "--from", stock, *options)
    assert (result.code, result.out) == (0, f"{output}\n")
    assert f"tracekit capture --template '{output}'" in result.err
    assert plistlib.loads(output.read_bytes())["$objects"][-4:] == [13, 13, True, True]
    assert stock.read_bytes() == bytes_before
    again = tracekit("list", "templates", "make", output, "--from", stock, *options)
    assert_error(again, 2, "never written over")


def test_templates_that_cannot_be_made_are_reported(tracekit: Any, tmp_path: Path) -> None:
    for arguments, code, message in (
        ("--counter-profile 3", 2, "--from"),
        ("--from ./none.tracetemplate", 2, "Nothing is to be"),
        ("--counter-profile -1", 2, "--counter-profile"),
        ("--from ./none.tracetemplate --counter-profile 3", 3, "tracetemplate cannot be read"),
    ):
        result = tracekit(
            "list", "templates", "make", tmp_path / "mine.tracetemplate", *arguments.split()
        )
        assert_error(result, code, message)


NUMBERS = ("counterprofile", "counterprofileinternal", "counterscounterprofile")
SWITCHES = ("shaderprofiler", "shaderprofilerinternal", "countersshaderprofiler")
CHOICES = [
    choice
    for choice in product((None, 1, 3, 4, 13, 14), (None, "on", "off"))
    if choice != (None, None)
]


@pytest.mark.parametrize("name", ["Argent", "AllocVMTrackerAuto3s"])
def test_nothing_else_changes_in_a_real_template(
    name: str, corpus: Path, tracekit: Any, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    source = corpus / "templates" / f"{name}.tracetemplate"
    old = plistlib.loads(source.read_bytes())
    for profile, shaders in CHOICES:
        with subtests.test(profile=profile, shaders=shaders):
            output = tmp_path / f"{profile}-{shaders}.tracetemplate"
            options: list[str] = ["--write", "--from", str(source)]
            expected: dict[str, int | bool] = {}
            if profile is not None:
                options += ["--counter-profile", str(profile)]
                expected |= dict.fromkeys(NUMBERS, profile)
            if shaders is not None:
                options += ["--shader-timeline", shaders]
                expected |= dict.fromkeys(SWITCHES, shaders == "on")
            assert tracekit("list", "templates", "make", output, *options).code == 0
            new = plistlib.loads(output.read_bytes())
            assert revert(new, old, expected) == old
            assert {*map(type, new["$objects"][len(old["$objects"]) :])} <= {int, bool}


def revert(
    new: dict[str, Any], old: dict[str, Any], expected: dict[str, int | bool]
) -> dict[str, Any]:
    """Return a template whose expected values, where they are, point at the old ones again."""
    objects = list(new["$objects"])
    reverted = 0
    for place, holder in enumerate(old["$objects"]):
        if not isinstance(holder, dict) or "NS.keys" not in holder:
            continue
        values = list(objects[place]["NS.objects"])
        for position, key in enumerate(holder["NS.keys"]):
            key_name = old["$objects"][key.data]
            if isinstance(key_name, str) and key_name in expected:
                value = objects[values[position].data]
                assert (value, type(value)) == (expected[key_name], type(expected[key_name]))
                values[position] = holder["NS.objects"][position]
                reverted += 1
        objects[place] = {**objects[place], "NS.objects": values}
    assert reverted >= len(expected)
    return {**new, "$objects": objects[: len(old["$objects"])]}
