"""Which compiler runs Metal kernels: the newest that is new enough, and none that is too old."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from tracekit.lab.msl.compiler import find_compiler

Run = Callable[..., Any]
KERNEL = ("kernel", "verify", "rmsnorm-linear", "--rows", "2", "--dims", "33")
OLD = {
    "g++": "g++ (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0",
    "g++-11": "g++-11 (Debian 11.3.0-12) 11.3.0",
    "clang++": "Debian clang version 14.0.6",
    "clang++-15": "Ubuntu clang version 15.0.7",
    "c++": "Apple clang version 14.0.3 (clang-1403.0.22.14.1)",
}


def make_compiler(folder: Path, name: str, version: str) -> Path:
    """Write a compiler that says its version and refuses every flag."""
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f'#!/bin/sh\nfor last; do :; done\n[ "$last" = --version ] && echo "{version}" && exit 0\n'
        "echo \"error: unknown argument: '$1'\" >&2\nexit 1\n"
    )
    file.chmod(0o755)
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def only_error(result: Any) -> str:
    """Return the sentence of a command that failed, which is followed by a hint."""
    assert (result.code, result.out) == (3, "")
    error, hint = result.err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith(".")
    assert hint.startswith("hint: Install ")
    return error


@pytest.mark.processes
@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("command", ["{}", "{} -Wall", "/usr/bin/env {}"])
def test_a_compiler_of_cxx_that_is_too_old_is_refused(
    tracekit: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str
) -> None:
    compiler = make_compiler(folder, name, OLD[name])
    monkeypatch.setenv("CXX", command.format(quote(str(compiler))))
    error = only_error(tracekit(*KERNEL))
    assert "CXX names a compiler too old for Metal kernels: " in error
    assert repr(OLD[name]) in error


@pytest.mark.processes
def test_compilers_that_are_all_too_old_are_named(tracekit: Run, folder: Path) -> None:
    for name, version in OLD.items():
        make_compiler(folder, name, version)
    error = only_error(tracekit(*KERNEL))
    for name, version in OLD.items():
        assert f"{folder / name} is {version!r}, which is too old" in error, name


CHOSEN = (
    # versions by name, the compiler that is taken
    ({"g++": "g++ (GCC) 12.1.0", "g++-13": "g++ (GCC) 13.2.0"}, "g++-13"),
    ({"g++": "g++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)", "g++-9": "g++ (x) 9.1"}, "g++"),
    ({"g++": "g++ (GCC) 9.1.0", "clang++": "clang version 17.0.1"}, "clang++"),
    ({"clang++": "clang version 14.0.6", "clang++-16": "clang version 16.0.6"}, "clang++-16"),
    ({"clang++-16": "clang version 16.0.6", "clang++-40": "clang version 40.1"}, "clang++-40"),
    ({"c++": "Apple clang version 15.0.0 (clang-1500.3.9.4)"}, "c++"),
    ({"c++": "a compiler of another house"}, "c++"),
    ({"g++": "g++ (GCC) 11.1.0", "c++": "c++ (conda-forge gcc 13.2.0-5) 13.2.0"}, "c++"),
    (OLD | {"g++-12": "g++-12 (Debian 12.2.0-14) 12.2.0"}, "g++-12"),
)


@pytest.mark.processes
@pytest.mark.skipif("sys.platform == 'darwin'", reason="clang++ comes first on a Mac")
@pytest.mark.parametrize(("versions", "chosen"), CHOSEN)
def test_the_newest_compiler_is_chosen(folder: Path, versions: dict[str, str], chosen: str) -> None:
    for name, version in versions.items():
        make_compiler(folder, name, version)
    assert find_compiler().path == str(folder / chosen)


@pytest.mark.processes
def test_a_compiler_that_does_not_say_its_version_is_passed_over(folder: Path) -> None:
    make_compiler(folder, "g++", "").write_text("#!/bin/sh\nexit 1\n")
    make_compiler(folder, "clang++", "clang version 18.1.3")
    assert find_compiler().path == str(folder / "clang++")
