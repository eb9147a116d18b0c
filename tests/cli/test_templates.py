"""`tracekit templates`, with a fake Xcode and without one."""

import plistlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

UID = plistlib.UID
Run = Callable[..., Any]


@pytest.fixture
def tracekit(tracekit: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, at home in an empty folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tracekit


@pytest.fixture
def xcode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the fake xctrace on PATH."""
    fake = Path(__file__).parents[1] / "fake_xctrace" / "bin"
    monkeypatch.setenv("PATH", str(fake), prepend=":")


@pytest.fixture
def no_xcode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def put_template(path: Path, **settings: Any) -> Path:
    """Write a template with these settings in one archived dictionary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = list(settings.values())
    first = 2
    dictionary = {
        "NS.keys": [UID(first + place) for place in range(len(values))],
        "NS.objects": [UID(first + len(values) + place) for place in range(len(values))],
    }
    plist = {
        "$archiver": "NSKeyedArchiver",
        "$version": 100000,
        "$top": {"root": UID(1)},
        "$objects": ["$null", dictionary, *settings, *values],
    }
    path.write_bytes(plistlib.dumps(plist, fmt=plistlib.FMT_BINARY))
    return path


STOCK = {
    "counterprofile": 0,
    "counterprofileinternal": 0,
    "shaderprofiler": False,
    "shaderprofilerinternal": False,
}


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    return put_template(tmp_path / "stock.tracetemplate", **STOCK)


@pytest.mark.processes
@pytest.mark.usefixtures("xcode")
def test_templates_are_listed_by_their_sections(tracekit: Run) -> None:
    ran = tracekit("templates")
    assert ran.code == 0
    assert "Standard Templates\tTime Profiler\n" in ran.out
    assert "Standard Templates\tMetal System Trace\n" in ran.out
    assert "--counters on adds the instrument Metal GPU Counters" in ran.err


@pytest.mark.usefixtures("no_xcode")
def test_a_machine_without_xctrace_is_told_in_a_sentence(tracekit: Run) -> None:
    ran = tracekit("templates")
    assert ran.code == 3
    assert "There is no xctrace on this machine." in ran.err
    assert ran.out == ""


@pytest.mark.usefixtures("no_xcode")
def test_making_is_a_dry_run_that_names_every_place(
    tracekit: Run, stock: Path, tmp_path: Path
) -> None:
    output = tmp_path / "mine.tracetemplate"
    ran = tracekit("templates", "make", output, "--from", stock, "--counter-profile", "13")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "object 1: counterprofile\t0\t13",
        "object 1: counterprofileinternal\t0\t13",
    ]
    assert "Nothing was written" in ran.err
    assert not output.exists()


@pytest.mark.usefixtures("no_xcode")
def test_a_template_is_made_and_its_path_printed(
    tracekit: Run, stock: Path, tmp_path: Path
) -> None:
    before = stock.read_bytes()
    output = tmp_path / "with space.tracetemplate"
    options = ["--counter-profile", "13", "--shader-timeline", "on", "--write"]
    ran = tracekit("templates", "make", output, "--from", stock, *options)
    assert (ran.code, ran.out) == (0, f"{output}\n")
    assert f"tracekit capture --template '{output}'" in ran.err
    assert plistlib.loads(output.read_bytes())["$objects"][-4:] == [13, 13, True, True]
    assert stock.read_bytes() == before
    again = tracekit("templates", "make", output, "--from", stock, *options)
    assert again.code == 2
    assert "never written over" in again.err


@pytest.mark.usefixtures("no_xcode")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--counter-profile 3", 2, "--from"),
        ("--from ./none.tracetemplate", 2, "Nothing is to be"),
        ("--counter-profile -1", 2, "--counter-profile"),
        ("--from ./none.tracetemplate --counter-profile 3", 3, "tracetemplate cannot be read"),
    ],
)
def test_what_cannot_be_made_is_said(
    arguments: str, code: int, said: str, tracekit: Run, tmp_path: Path
) -> None:
    ran = tracekit("templates", "make", tmp_path / "mine.tracetemplate", *arguments.split())
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
