"""The fake plays the machines and the Xcodes that are on record, and rows follow the work."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from lxml import etree

from gpu_jobs import program_of
from recording_fakes import archive
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.comparing import compare_with_export
from tracekit.tables.direct import Stored
from tracekit.tables.toc import read_toc

Scenario = Callable[..., None]
Result = subprocess.CompletedProcess[str]

INTERVALS, COUNTERS = "metal-gpu-intervals", "metal-gpu-counter-intervals"
METAL = ("--template", "Metal System Trace")
REFUSED = "Selected counter profile is not supported on target device"


def call(*argv: str) -> Result:
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "a.trace"


@pytest.fixture
def launch(scenario: Scenario, bundle: Path) -> Callable[..., Result]:
    """Record a program of 20 jobs that xctrace launches, or another one."""

    def record(*options: str, command: tuple[str, ...] = program_of(20)) -> Result:
        template = () if "--instrument" in options or "--template" in options else METAL
        output = ("--output", str(bundle), "--no-prompt", "--env", f"TMPDIR={os.environ['TMPDIR']}")
        return call("xctrace", "record", *template, *options, *output, "--launch", "--", *command)

    return record


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen((sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)")) as run:
        yield run
        run.kill()


def export(bundle: Path, schema: str = "") -> Any:
    """Return the table of contents, or a table."""
    xpath = f'/trace-toc/run[@number="1"]/data/table[@schema="{schema}"]'
    which = ("--xpath", xpath) if schema else ("--toc",)
    printed = call("xctrace", "export", "--input", str(bundle), *which).stdout
    return etree.fromstring(printed.encode())


def owners(bundle: Path) -> list[str]:
    """Return the process of each row of GPU work."""
    root = export(bundle, INTERVALS)
    names = {cell.get("id"): cell.get("fmt") for cell in root.iter("process") if cell.get("fmt")}
    cells = [row.find("process") for row in root.iter("row")]
    fmts = [cell.get("fmt") or names[cell.get("ref")] for cell in cells]
    return [re.sub(r" \(\d+\)", "", fmt) for fmt in fmts]


PYTHON = Path(sys.executable).name


@pytest.mark.parametrize(
    ("keys", "target", "others"),
    [
        ({}, 20, True),
        ({"rows": "none"}, 0, False),
        ({"rows": {"most": 7}}, 7, True),
        ({"rows": "thinned"}, 12, True),
        ({"rows": "others"}, 0, True),
        ({"asleep": True}, 0, True),
    ],
)
def test_rows_are_the_marks_of_a_process_that_ran(
    *, keys: dict[str, object], target: int, others: bool, scenario: Scenario,
    launch: Callable[..., Result], bundle: Path,
) -> None:  # fmt: skip
    scenario(**keys)
    assert launch("--time-limit", "1s").returncode == (54 if "asleep" in keys else 0)
    names = owners(bundle)
    assert (names.count(PYTHON), "WindowServer" in names) == (target, others)


def test_work_of_a_child_is_in_the_trace_under_its_own_name(
    launch: Callable[..., Result], bundle: Path
) -> None:
    shell = ("/bin/sh", "-c", '"$@"; true', "sh", *program_of(5))
    assert launch(command=shell).returncode == 0
    assert owners(bundle).count("python3") == 5
    assert export(bundle).find("run/info/target/process").get("name") == "sh"


@pytest.mark.parametrize(("build", "tables"), [("17C529", (114, 81)), ("27A266a", (117, 84))])
def test_the_schemas_of_a_real_table_of_contents_are_in_bundle_and_exports_alike(
    *, build: str, tables: tuple[int, int], scenario: Scenario, launch: Callable[..., Result],
    bundle: Path, tmp_path: Path,
) -> None:  # fmt: skip
    scenario(tables="all", version=build)
    assert launch().returncode == 0
    toc = tmp_path / "toc.xml"
    call("xctrace", "export", "--input", str(bundle), "--toc", "--output", str(toc))
    listed = [table.schema for table in read_toc(toc).runs[0].tables]
    assert (len(listed), len(set(listed))) == tables
    stores = Bundle(bundle).runs[0].stores
    assert {store.schema for store in stores} == set(listed)
    compared = 0
    for store in stores:
        if store.rows and listed.count(store.schema) == 1:
            file = tmp_path / f"{store.schema}.xml"
            xpath = f'/trace-toc/run[@number="1"]/data/table[@schema="{store.schema}"]'
            arguments = ("--input", str(bundle), "--xpath", xpath, "--output", str(file))
            assert call("xctrace", "export", *arguments).returncode == 0
            table = Stored(bundle, 1, store.number)
            comparison = compare_with_export(file, table, read_toc(toc))
            assert (comparison.rows, comparison.difference) == (store.rows, ""), store.schema
            compared += 1
    assert compared >= 11


@pytest.mark.parametrize(
    ("build", "number", "settings", "thread", "new_flag", "documented"),
    [
        ("17C529", "26.0", "array", "Main Thread 0x", False, False),
        ("17F113", "16.0", "array", "Main Thread 0x", False, True),
        ("27A266a", "27.0", "options", "Main Thread (0x", True, True),
    ],
)
def test_versions_differ_as_they_are_reported_to(
    *, build: str, number: str, settings: str, thread: str, new_flag: bool, documented: bool,
    scenario: Scenario, launch: Callable[..., Result], bundle: Path,
) -> None:  # fmt: skip
    scenario(version=build)
    assert call("xctrace", "version").stdout == f"xctrace version {number} ({build})\n"
    assert ("--recording-options" in call("xctrace", "help", "record").stdout) is new_flag
    templates = call("xctrace", "list", "templates").stdout.splitlines()
    assert ("Tailspin" in templates) is not new_flag
    assert len(templates) == 26
    assert launch().returncode == 0
    toc = export(bundle)
    assert toc.find("run/info/summary/instruments-version").text == f"{number} ({build})"
    assert [part.tag for part in toc.iter("instrument") for part in part] == [settings]
    table = toc.find(f"run/data/table[@schema='{INTERVALS}']")
    assert ("documentation" in table.attrib) is documented
    encoders = export(bundle, "metal-application-encoders-list")
    assert encoders.find("node/row/thread").get("fmt").startswith(thread)
    assert Bundle(bundle).runs


def test_the_first_line_of_instruments_alone_names_no_template_in_27(
    scenario: Scenario, launch: Callable[..., Result], bundle: Path
) -> None:
    for build, words in (
        ("17C529", "the Blank template and GPU Instrument and Hangs Instrument."),
        ("27A266a", "the GPU Instrument and Hangs Instrument."),
    ):
        scenario(version=build)
        output = launch("--instrument", "GPU", "--instrument", "Hangs").stdout
        assert output.startswith(f"Starting recording with {words} Launching process"), build
        bundle.rename(bundle.with_name(build))


@pytest.mark.parametrize(
    ("chip", "profile", "instrument", "names"),
    [
        ("M1 Pro", 0, False, []),
        ("M1 Pro", 0, True, ["ALU Limiter", "Kernel Occupancy"]),
        ("M2", 3, False, ["ALU Limiter", "Kernel Occupancy"]),
        ("M2", 13, False, None),
        ("M3", 0, False, ["RT Unit Active"]),
        ("M3 Max", 0, True, None),
        ("M3", 3, False, None),
        ("M4 Max", 13, False, ["RT Unit Active", "ALU Limiter", "Kernel Occupancy"]),
        ("M4", 13, True, ["RT Unit Active", "ALU Limiter", "Kernel Occupancy"]),
        ("M5", 13, False, None),
    ],
)
def test_counters_come_by_the_family_of_the_chip_and_the_profile_of_the_template(
    *, chip: str, profile: int, instrument: bool, names: list[str] | None, scenario: Scenario,
    launch: Callable[..., Result], bundle: Path, tmp_path: Path,
) -> None:  # fmt: skip
    scenario(chip=chip, **({"profiles": [14]} if chip == "M5" else {}))
    template = tmp_path / "x.tracetemplate"
    keys = {"counterprofile": profile, "counterscounterprofile": profile}
    template.write_bytes(archive(keys))
    options = ("--instrument", "Metal GPU Counters") if instrument else ()
    result = launch("--template", str(template), *options)
    assert result.returncode == 0
    assert (REFUSED in result.stderr) is (names is None)
    rows = export(bundle, COUNTERS).findall("node/row/gpu-counter-name")
    counters = list(dict.fromkeys(cell.get("fmt") for cell in rows if cell.get("fmt")))
    lost = [] if instrument or chip in {"M1 Pro", "M2"} else ["RT Unit Active"]
    assert counters == (lost if names is None else names)
    values = [value.text for value in export(bundle).iter("value")]
    is_on = bool(names and names != ["RT Unit Active"])
    assert ("Counter Set: Performance Limiters" in values) is is_on


def test_an_attached_target_may_be_stopped(
    scenario: Scenario, sleeper: subprocess.Popen[bytes], bundle: Path
) -> None:
    scenario(attach="stops")
    options = ("--time-limit", "300ms", "--output", str(bundle), "--attach", str(sleeper.pid))
    assert call("xctrace", "record", *METAL, *options).returncode == 0
    assert psutil.Process(sleeper.pid).status() == psutil.STATUS_STOPPED


@pytest.mark.parametrize("inherits", [False, True])
def test_an_environment_is_inherited_or_not(
    *, inherits: bool, scenario: Scenario, launch: Callable[..., Result], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scenario(inherits=inherits)
    monkeypatch.setenv("SECRET", "x")
    seen = tmp_path / "seen"
    launch("--env", "KEY=a=b", command=("/bin/sh", "-c", f"echo $KEY $SECRET > {seen}"))
    assert seen.read_text() == ("a=b x\n" if inherits else "a=b\n")


def test_a_dialog_waits_for_someone_who_never_comes(
    scenario: Scenario, launch: Callable[..., Result], bundle: Path
) -> None:
    scenario(dialog=True)
    argv = ("xctrace", "record", *METAL, "--output", str(bundle), "--launch", "--", "/bin/true")
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(argv, stdin=null, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert "wants permission to analyze other processes" in process.stderr.readline()
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=20)
    assert (process.returncode, "Ctrl-C" in printed, bundle.exists()) == (2, False, False)


def test_a_recording_in_another_language(scenario: Scenario, launch: Callable[..., Result]) -> None:
    scenario(language="de")
    lines = launch().stdout.splitlines()
    assert lines[1] == "Mit Ctrl-C endet die Aufnahme"
    assert not [line for line in lines if re.search(r"[Rr]ecording|saved", line)]


def test_devices_are_listed_and_an_ambiguous_one_is_refused(
    launch: Callable[..., Result], bundle: Path
) -> None:
    lines = call("xctrace", "list", "devices").stdout.splitlines()
    assert [line for line in lines if line.startswith("==")] == [
        "== Devices ==", "== Devices Offline ==", "== Simulators ==",
    ]  # fmt: skip
    assert lines[1].startswith("Test Mac (")
    result = launch("--device", "iphone")
    assert (result.returncode, result.stderr) == (
        28, "Provided device parameter 'iphone' is ambiguous\n",
    )  # fmt: skip
    assert launch("--device", "test mac").returncode == 0
    assert bundle.exists()


def test_options_that_a_version_lacks_are_refused(
    scenario: Scenario, launch: Callable[..., Result], bundle: Path
) -> None:
    for options in (("--no-such",), ("--target-stderr", "x"), ("--recording-options", "x")):
        result = launch(*options)
        assert result.returncode != 0, options
        assert (result.stdout, bundle.exists()) == ("", False), options
    assert launch("--template", "Blank").returncode != 0
    scenario(blank=True)
    assert launch("--template", "Blank").returncode == 0
    scenario(without=["System Trace"])
    assert launch("--template", "System Trace").returncode != 0
    assert "System Trace" not in call("xctrace", "list", "templates").stdout.splitlines()


def test_an_export_takes_the_time_of_its_kind(
    scenario: Scenario, launch: Callable[..., Result], bundle: Path
) -> None:
    launch()
    scenario(export_delay={"toc": 0.6, "table": 0.1})
    begun = time.monotonic()
    export(bundle)
    between = time.monotonic()
    export(bundle, INTERVALS)
    assert between - begun > 0.6
    assert time.monotonic() - between > 0.1


def test_an_unknown_layout_is_a_bundle_that_only_xctrace_reads(
    scenario: Scenario, launch: Callable[..., Result], bundle: Path
) -> None:
    scenario(layout="unknown")
    assert launch().returncode == 0
    assert sorted(path.name for path in bundle.iterdir()) == [
        "Trace1.run",
        "corespace",
        "form.template",
    ]
    assert owners(bundle).count(PYTHON) == 20
