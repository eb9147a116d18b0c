"""The whole table, as a person sees it: golden text for each kind of machine.

`pytest --update-goldens` writes it again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.cli.console import show_diagnosis
from tracekit.record.doctor.examine import Diagnosis, examine, keep, recall_probe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Surroundings]
GOLDEN = Path(__file__).with_name("golden")
M1 = Identity("25D2128", "17C529", "Apple M1")
# What differs from installation to installation stays out of the golden texts.
OF_THIS_INSTALLATION = {"tracekit", "host recorder", "import and analysis"}
LAUNCHED = Combination(
    "launch", counters=False, backend="metal", rows=150, others=31, dispatches=150, saving=4.2
)
MATRIX = Capabilities(
    M1,
    "2026-11-20T10:15:03+00:00",
    (
        LAUNCHED,
        Combination("attach", counters=False, backend="metal", rows=0, others=29, dispatches=147),
        replace(LAUNCHED, counters=True, counter_set="Performance Limiters", counter_rows=4100),
        Combination("attach", counters=True, failure="xctrace hung before it began to record."),
    ),
)


def shown(diagnosis: Diagnosis, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    facts = tuple(one for one in diagnosis.facts if one.name not in OF_THIS_INSTALLATION)
    capsys.readouterr()
    show_diagnosis(replace(diagnosis, facts=facts))
    text = capsys.readouterr().out.replace(str(folder), "HERE")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with its golden file."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-goldens"):
            file.write_text(text)
        assert text == file.read_text()

    return compare


def test_a_mac_that_is_ready_and_was_probed(
    mac: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    keep(MATRIX, tmp_path / "cache")
    diagnosis = examine(mac(), tmp_path / "cache")
    assert diagnosis.identity == M1
    assert diagnosis.exit_code == 0
    golden("ready-mac", shown(diagnosis, tmp_path, capsys))


def test_a_mac_with_many_troubles(
    mac: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    licence = Completed(("xcrun",), 69, "", "You have not agreed to the Xcode license agreements.")
    answers = {
        "/usr/sbin/sysctl -n sysctl.proc_translated": "1\n",
        "xcrun --find xctrace": licence,
        "xcode-select -p": "/Library/Developer/CommandLineTools\n",
        "/usr/sbin/DevToolsSecurity -status": "Developer mode is currently disabled.\n",
        "/usr/sbin/ioreg": "",
        "/usr/bin/id -Gn": "staff\n",
        "python": '["0.32.1", false, {}]\n',
    }
    trouble = mac(answers, architecture="x86_64", free=lambda _: 1_000_000)
    diagnosis = examine(trouble, tmp_path / "cache")
    assert diagnosis.exit_code == 3
    golden("troubled-mac", shown(diagnosis, tmp_path, capsys))


def test_linux(
    linux: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    diagnosis = examine(linux(), tmp_path / "cache")
    assert diagnosis.exit_code == 0
    chip = next(fact for fact in diagnosis.facts if fact.name == "chip")
    system = next(fact for fact in diagnosis.facts if fact.name == "system")
    text = shown(diagnosis, tmp_path, capsys)
    golden("linux", text.replace(chip.words, "CHIP").replace(system.words, "SYSTEM"))


def test_a_mac_whose_developer_mode_says_something_new_is_inconclusive(
    mac: Make, tmp_path: Path
) -> None:
    said = {"/usr/sbin/DevToolsSecurity -status": "Developer mode: on\n"}
    assert examine(mac(said), tmp_path).exit_code == 4


def test_what_was_probed_just_now_is_shown_and_kept(mac: Make, tmp_path: Path) -> None:
    diagnosis = examine(mac(), tmp_path, fresh=MATRIX)
    assert diagnosis.capabilities == MATRIX
    assert recall_probe(M1, tmp_path) == MATRIX


def test_a_cache_that_cannot_be_written_does_not_hide_what_was_probed(
    mac: Make, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file")
    diagnosis = examine(mac(), tmp_path / "cache", fresh=MATRIX)
    assert diagnosis.capabilities == MATRIX
    assert "cannot be written" in diagnosis.facts[-1].words
    assert diagnosis.facts[-1].verdict == "warning"


def test_a_probe_without_any_trace_does_not_replace_an_older_one(mac: Make, tmp_path: Path) -> None:
    keep(MATRIX, tmp_path)
    held = tuple(
        Combination(one.mode, counters=one.counters, failure="Another recording runs.")
        for one in MATRIX.combinations
    )
    diagnosis = examine(mac(), tmp_path, fresh=replace(MATRIX, combinations=held))
    assert diagnosis.exit_code == 3
    assert "not kept" in diagnosis.facts[-1].words
    assert recall_probe(M1, tmp_path) == MATRIX
