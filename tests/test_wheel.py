"""The sdist and the wheel hold what the checkout holds, and work where there is no checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from every_command import LINES, allowed_codes, copy_world, make_world, needed_extra
from gate_night import NIGHT
from git_program import require_git
from tracekit.base.documents import save
from tracekit.nightly.history.night import DOCUMENT

pytestmark = [pytest.mark.wheel, pytest.mark.processes]

ROOT = Path(__file__).parents[1]
MAPPED = {"kernels": "tracekit/kernels", "workloads": "tracekit/workloads"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of the checkout and the wheel of that sdist; no registry is asked."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


def test_the_distribution_is_metaltrace_in_the_version_of_the_changelog(dist: Path) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(r"^## ([\d.]+)", changelog, re.MULTILINE)
    assert heading is not None
    name = f"metaltrace-{heading[1]}"
    assert sorted(file.name for file in dist.iterdir()) == [
        f"{name}-py3-none-any.whl",
        f"{name}.tar.gz",
    ]
    assert (ROOT / "docs" / "releases" / f"{heading[1]}.md").is_file()


def test_the_sdist_holds_the_package_its_tests_and_no_runs(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "tracekit/cli/main.py", "tests/conftest.py"} <= names
    private_names = {
        name for name in names if name.startswith(("bench/traces/", ".git/", ".venv/"))
    }
    assert private_names == {"bench/traces/README.md"}


def list_tracked_files() -> set[str]:
    require_git()
    listed = subprocess.run(
        ["git", "ls-files", "tracekit", "kernels", "workloads", "templates"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return {
        name if name.startswith("tracekit/") else f"tracekit/{name}"
        for name in listed.stdout.splitlines()
        if (ROOT / name).is_file()
    }


def test_the_wheel_holds_just_the_tracked_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    require_git()
    untracked = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "tracekit", *MAPPED, "templates"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    new = {name if name.startswith("tracekit/") else f"tracekit/{name}" for name in untracked}
    assert names - new == list_tracked_files()


def closure(requirements: Iterable[str]) -> list[Distribution]:
    """Return the distributions that are needed, each once, all that they need included."""
    pending_requirements = [*map(Requirement, requirements)]
    distributions: dict[tuple[str, str], Distribution] = {}
    while pending_requirements:
        requirement = pending_requirements.pop()
        for extra in ("", *requirement.extras):
            key = (canonicalize_name(requirement.name), extra)
            if key not in distributions:
                distributions[key] = distribution(requirement.name)
                pending_requirements += _holding(distributions[key].requires or (), extra)
    return list({name: package for (name, _), package in distributions.items()}.values())


def needed_here(requirements: Iterable[str]) -> list[str]:
    """Return those whose conditions hold on this machine, without any extra."""
    return [*map(str, _holding(requirements))]


def link(distributions: Iterable[Distribution], place: Path) -> None:
    for package in distributions:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            target, new = Path(str(package.locate_file(name))), place / name
            if target.exists() and not new.exists():
                new.symlink_to(target)


def _holding(requirements: Iterable[str], extra: str = "") -> list[Requirement]:
    return [
        requirement
        for requirement in map(Requirement, requirements)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    ]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel, and what the wheel declares that it needs.

    Those packages are the ones that the tests run with; no registry is asked.
    """
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv to install the wheel with")
    home = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, home], check=True)
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python"]
    subprocess.run([*install, home / "bin" / "python", wheel], check=True)
    with zipfile.ZipFile(wheel) as archive:
        metadata_name = next(
            name for name in archive.namelist() if name.endswith(".dist-info/METADATA")
        )
        requires = message_from_bytes(archive.read(metadata_name)).get_all("Requires-Dist", [])
    (place,) = home.glob("lib/python3.*/site-packages")
    link(closure(needed_here(requires)), place)
    return home / "bin" / "tracekit"


def test_the_wheel_runs_without_a_checkout(installed: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [installed, "workloads"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "paged\tDecode one token" in result.stdout


RUNS = """
import contextlib, io, json, os, sys

from tracekit.cli.main import main

for name, home, words in json.load(sys.stdin):
    os.chdir(home)
    code, errors = 0, io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
    print(json.dumps([name, code, errors.getvalue()]), flush=True)
"""


def test_each_command_runs_with_the_core_or_names_its_extra(
    installed: Path, tmp_path: Path
) -> None:
    """An extra that is missing is one sentence with the command that installs it, and code 3."""
    made = make_world(tmp_path / "made")
    lines: list[tuple[str, str, list[str]]] = []
    for number, name in enumerate(LINES):
        home = tmp_path / f"home-{number}"
        home.mkdir()
        world = copy_world(made, tmp_path / f"world-{number}")
        lines.append((name, str(home), world.words(name)))
    done = subprocess.run(
        [installed.with_name("python"), "-c", RUNS],
        cwd=tmp_path,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert [name for name, _, _ in results] == list(LINES)
    for name, code, errors in results:
        assert "Traceback" not in errors, f"{name}: {errors}"
        extra = needed_extra(name)
        if not extra:
            assert code in allowed_codes(name), f"{name}: {errors}"
            assert "not installed" not in errors, f"{name}: {errors}"
            continue
        assert code == 3, f"{name}: {errors}"
        sentences = re.findall(r"(?m)^error: .* needs \w+, which is not installed\.$", errors)
        hints = re.findall(r"(?m)^hint: Install it: .*\[([\w,]+)\].*$", errors)
        assert len(sentences) == 1, f"{name}: {errors}"
        assert hints == [extra], f"{name}: {errors}"


KEEPS = """
import sys
from pathlib import Path

import tracekit
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.store.store import Store

assert Path(tracekit.__file__).is_relative_to(sys.argv[1]), tracekit.__file__
with Store.connect(sys.argv[2]) as store:
    assert store.append(night_in(Path(sys.argv[3])))
"""


def test_a_history_is_begun_read_and_drawn_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    """Its migrations and the page's templates are files of the wheel that nothing imports."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")  # noqa: S202  a zip file of our own
    night, url = tmp_path / "night", f"sqlite:///{tmp_path}/history.db"
    night.mkdir()
    save(night / DOCUMENT, NIGHT)

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path / "unpacked")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", KEEPS, tmp_path / "unpacked", url, night)
    page = tmp_path / "trend.html"
    run("-m", "tracekit", "nightly", "history", "--history", url, "--html", page)
    assert "step_p50" in page.read_text()


def test_the_wheel_has_the_command_tracekit(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entry = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "tracekit = tracekit.cli.main:main" in archive.read(entry).decode()
