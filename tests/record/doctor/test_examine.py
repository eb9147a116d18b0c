"""The whole table, as a person sees it: golden text for each kind of machine.

`pytest --update-goldens` writes it again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.cli.console import show_diagnosis
from tracekit.record.doctor.examine import examine, keep, recall_probe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Surroundings]
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


TROUBLES = {
    "/usr/sbin/sysctl -n sysctl.proc_translated": "1\n",
    "xcrun --find xctrace": Completed(
        ("xcrun",), 69, "", "You have not agreed to the Xcode license agreements."
    ),
    "xcode-select -p": "/Library/Developer/CommandLineTools\n",
    "/usr/sbin/DevToolsSecurity -status": "Developer mode is currently disabled.\n",
    "/usr/sbin/ioreg": "",
    "/usr/bin/id -Gn": "staff\n",
    "python": '["0.32.1", false, {}]\n',
}


@pytest.mark.parametrize(("name", "code"), [("ready-mac", 0), ("troubled-mac", 3), ("linux", 0)])
def test_what_a_person_sees(
    *, name: str, code: int, mac: Make, linux: Make, tmp_path: Path,
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if name == "ready-mac":
        keep(MATRIX, tmp_path / "cache")
        at = mac()
    elif name == "linux":
        at = linux()
    else:
        at = mac(TROUBLES, architecture="x86_64", free=lambda _: 1_000_000)
    diagnosis = examine(at, tmp_path / "cache")
    assert diagnosis.exit_code == code
    facts = tuple(one for one in diagnosis.facts if one.name not in OF_THIS_INSTALLATION)
    capsys.readouterr()
    show_diagnosis(replace(diagnosis, facts=facts))
    text = capsys.readouterr().out.replace(str(tmp_path), "HERE")
    if name == "linux":
        known = {fact.name: fact.words for fact in facts}
        text = text.replace(known["chip"], "CHIP").replace(known["system"], "SYSTEM")
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    golden = Path(__file__).with_name("golden") / f"{name}.txt"
    if request.config.getoption("--update-goldens"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_what_was_probed_just_now_is_shown_and_kept_where_it_can_be(
    mac: Make, tmp_path: Path
) -> None:
    assert examine(mac(), tmp_path, fresh=MATRIX).capabilities == MATRIX
    assert recall_probe(M1, tmp_path) == MATRIX
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
