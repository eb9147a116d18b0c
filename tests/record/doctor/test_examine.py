"""The whole table as a person sees it, a probe's matrix in facts and plans, and the command."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.cli.results import show_diagnosis
from tracekit.record.doctor import checks
from tracekit.record.doctor import examine as doctor
from tracekit.record.doctor.checks import FactStatus
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.known_bundles import Checked, KnownBundles
from tracekit.record.xctrace.command import Completed
from tracekit.workload.plan import Plan
from tracekit.workload.workload import Step, Workload

Make = Callable[..., DoctorSurroundings]
OK, WARNING, FAILED, UNKNOWN = (
    FactStatus.OK,
    FactStatus.WARNING,
    FactStatus.FAILED,
    FactStatus.UNKNOWN,
)
AT = "2026-11-20T10:15:03+00:00"
MACHINE = Identity("25D2128", "17C529", "Apple M1")
# What differs from installation to installation stays out of the golden texts.
OF_THIS_INSTALLATION = {"tracekit", "host recorder", "import and analysis"}
LAUNCH = Combination(
    "launch", counters=False, backend="metal", rows=150, others=12, dispatches=150, saving=12.4
)
ATTACH = replace(LAUNCH, mode="attach", rows=147, dispatches=147)
COUNTED = replace(LAUNCH, counters=True, counter_set="Performance Limiters", counter_rows=4100)
FOUND = Capabilities(MACHINE, AT, (LAUNCH, COUNTED))
NO_TRACE = replace(LAUNCH, rows=None, failure="Another recording runs.")


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
def test_the_report_that_a_person_reads(
    *, name: str, code: int, mac: Make, linux: Make, tmp_path: Path,
    golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if name == "ready-mac":
        hung = Combination(
            "attach", counters=True, failure="xctrace hung before it began to record."
        )
        ways = (LAUNCH, replace(ATTACH, rows=0), COUNTED, hung)
        doctor.keep(replace(FOUND, combinations=ways), tmp_path / "cache")
    troubled = partial(mac, TROUBLES, architecture="x86_64", read_free_bytes=lambda _: 1_000_000)
    machines = {"ready-mac": mac, "linux": linux, "troubled-mac": troubled}
    diagnosis = doctor.examine(machines[name](), tmp_path / "cache")
    assert diagnosis.exit_code == code
    facts = tuple(fact for fact in diagnosis.facts if fact.name not in OF_THIS_INSTALLATION)
    capsys.readouterr()
    show_diagnosis(replace(diagnosis, facts=facts))
    text = capsys.readouterr().out.replace(str(tmp_path), "HERE")
    if name == "linux":
        words_by_fact = {fact.name: fact.words for fact in facts}
        text = text.replace(words_by_fact["chip"], "CHIP").replace(
            words_by_fact["system"], "SYSTEM"
        )
    golden(f"golden/{name}.txt", "".join(f"{line.rstrip()}\n" for line in text.splitlines()))


def test_a_virtual_machine_is_not_probed(mac: Make) -> None:
    virtual = mac({"/usr/sbin/sysctl -n kern.hv_vmm_present": "1\n"})
    with pytest.raises(ToolError, match="A probe needs the GPU of a chip"):
        doctor.probe_machine(virtual)


def test_a_new_probe_is_kept_if_possible_and_always_reported(mac: Make, tmp_path: Path) -> None:
    for fresh in (replace(FOUND, combinations=(LAUNCH, NO_TRACE)), FOUND):
        assert doctor.examine(mac(), tmp_path, fresh=fresh).capabilities == fresh
        assert doctor.recall_probe(MACHINE, tmp_path) == fresh
    (tmp_path / "file").touch()
    for cache, fresh, code, complaint in (
        (tmp_path / "file", FOUND, 0, "cannot be written"),
        (tmp_path, replace(FOUND, combinations=(NO_TRACE,)), 3, "not kept"),
    ):
        diagnosis = doctor.examine(mac(), cache, fresh=fresh)
        assert (diagnosis.capabilities, diagnosis.exit_code) == (fresh, code)
        assert diagnosis.facts[-1].verdict == "warning", code
        assert complaint in diagnosis.facts[-1].words
    assert doctor.recall_probe(MACHINE, tmp_path) == FOUND


def test_a_kept_probe_is_recalled_for_this_machine_alone(tmp_path: Path) -> None:
    cache, again = tmp_path / "cache", replace(FOUND, probed="2026-11-21", combinations=())
    for matrix in (FOUND, again):
        doctor.keep(matrix, cache)
        assert doctor.recall_probe(MACHINE, cache) == matrix
    identity_changes = [
        {"system_build": "25E100"},
        {"xcode_build": "17F113"},
        {"chip": "Apple M3 Max"},
    ]
    for other_identity in (
        *(replace(MACHINE, **change) for change in identity_changes),
        Identity(),
    ):
        assert doctor.recall_probe(other_identity, cache) is None
        doctor.keep(replace(FOUND, identity=other_identity), cache)
    assert doctor.recall_probe(MACHINE, cache) == again
    name = "capabilities-25D2128_17C529_Apple-M1.json"
    assert name in {file.name for file in cache.iterdir()}
    with pytest.raises(RecordingError):
        doctor.keep(FOUND, cache / name)


def test_unreadable_and_newer_notes_count_as_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    doctor.keep(replace(FOUND, format=2), tmp_path)
    assert doctor.recall_probe(MACHINE, tmp_path) is None
    assert caplog.text == ""
    [file] = tmp_path.iterdir()
    for content in (b"", b"[]", b'{"identity": 1}', b"\xff\xfe"):
        file.write_bytes(content)
        assert doctor.recall_probe(MACHINE, tmp_path) is None, content
        assert "cannot be read" in caplog.text, content
        caplog.clear()


NO_ROWS = replace(LAUNCH, rows=0)
ON_CPU = replace(LAUNCH, backend="cpu", rows=0, dispatches=None)
HUNG = replace(LAUNCH, rows=None, failure="xctrace hung.")
UNSAID = replace(COUNTED, counter_rows=None, failure="No such.")


def test_a_matrix_becomes_facts() -> None:
    for ways, fact, verdict, words, fix in (
        ([LAUNCH, ATTACH], "launch", OK, "150 GPU intervals of the probe's own for 150", ""),
        ([NO_ROWS], "launch", FAILED, "the probe's own; other processes have 12", "Instruments"),
        ([LAUNCH, replace(ATTACH, rows=0)], "attach", WARNING, "without a GPU", "--method launch"),
        ([HUNG, ATTACH], "launch", WARNING, "xctrace hung.", "--method attach"),
        ([HUNG], "launch", FAILED, "xctrace hung.", "--probe"),
        ([replace(LAUNCH, rows=149)], "launch", WARNING, "149 GPU intervals", "Trust no sums"),
        ([ON_CPU, ATTACH], "launch", FAILED, "ran on the CPU", ""),
        ([replace(ON_CPU, rows=5)], "launch", OK, "ran on the CPU", ""),
        ([replace(LAUNCH, dispatches=None)], "launch", OK, "not known", ""),
        ([replace(LAUNCH, rows=None, others=None)], "launch", FAILED, "not known", ""),
        ([LAUNCH, COUNTED], "counters", OK, "4,100 samples of Performance Limiters", ""),
        ([LAUNCH, replace(COUNTED, rows=0)], "counters", OK, "4,100", ""),  # of the whole GPU
        ([replace(COUNTED, counter_rows=0)], "counters", WARNING, "not available", "--template"),
        ([UNSAID], "counters", WARNING, "No such.", ""),
        ([replace(COUNTED, failure="It was cut.")], "counters", WARNING, "It was cut.", ""),
        ([LAUNCH], "counters", UNKNOWN, "nothing is known", ""),
        ([replace(HUNG, counters=True)], "counters", UNKNOWN, "nothing is known", ""),
    ):
        facts = doctor.describe_probe(Capabilities(MACHINE, AT, tuple(ways)), has_xctrace=True)
        [probe_fact] = [
            candidate_fact for candidate_fact in facts if candidate_fact.name == f"probe: {fact}"
        ]
        outcome = (probe_fact.verdict, words in probe_fact.words, fix in probe_fact.fix)
        assert outcome == (verdict, True, True), (ways, probe_fact)
    [never] = doctor.describe_probe(None, has_xctrace=True)
    assert (never.name, never.words[:12], never.fix[:10]) == ("probe", "never probed", "`tracekit ")


def ready() -> Step:
    raise AssertionError


WORKLOAD = Plan(workload=Workload("paged", Path("paged.py"), ready))
ATTACHED, BOTH = [("attach", False)], [("attach", False), ("attach", True)]
ALL = [("launch", False), ("launch", True), *BOTH]


def test_auto_follows_the_probe() -> None:
    cases: list[tuple[dict[str, Any], Any, str, str, tuple[str, ...]]] = [
        ({}, None, "auto", "auto", ()),
        ({}, ALL, "on", "auto", ("saving took 12 s",)),
        ({}, ATTACHED, "auto", "attach", ("--method",)),
        ({}, [], "auto", "auto", ()),
        ({}, BOTH, "on", "attach", ("--method", "--counters off")),
        ({"counters": "off", "method": "launch"}, ALL, "off", "launch", ()),
        ({"counters": "on", "method": "attach"}, [], "on", "attach", ()),
        ({"counters": "off", "method": "launch"}, BOTH, "off", "launch", ()),
        ({"method": "launch"}, BOTH, "auto", "launch", ()),  # only attaching gives them
        ({"workload": None, "command": ("/bin/ls",)}, ATTACHED, "auto", "auto", ()),
        ({"templates": ("/t/Mine.tracetemplate",)}, ALL, "auto", "auto", ()),
    ]
    for changes, works, counters, method, notes in cases:
        ways = [
            replace(COUNTED, mode=mode, counters=has_counters) for mode, has_counters in works or ()
        ]
        matrix = None if works is None else Capabilities(MACHINE, AT, tuple(ways))
        plan, plan_notes = doctor.resolve_plan(replace(WORKLOAD, **changes), matrix)
        outcome = (plan.counters, plan.method, len(plan_notes))
        assert outcome == (counters, method, len(notes)), (changes, works)
        assert all(note in text for note, text in zip(notes, plan_notes, strict=True)), (
            changes,
            plan_notes,
        )


def test_results_of_comparing_bundles_with_exports() -> None:
    def describe_facts(*tables: Checked, has_xctrace: bool = True) -> list[tuple[object, ...]]:
        memory = KnownBundles("17C529", {table.schema: table for table in tables})
        facts = doctor.direct_facts(memory, has_xctrace=has_xctrace)
        return [(fact.name, fact.verdict, fact.words, fact.fix[:12]) for fact in facts]

    name, equal = "direct reading", (Checked("a", 1_000, AT), Checked("b", 20, AT))
    differs = Checked("d", 5, AT, "row 1, duration: 7 directly, 8 exported")
    assert describe_facts(*equal, Checked("c", 0, AT), differs) == [
        (name, OK, "verified for build 17C529: 2 tables, 1,020 rows compared", ""),
        (f"{name}: d", WARNING, f"differs: {differs.difference}.", "Captures use"),
    ]
    assert describe_facts() == [(name, UNKNOWN, "not checked yet for build 17C529", "The next `tr")]
    assert [fact[1] for fact in describe_facts(*equal, has_xctrace=False)] == [
        FactStatus.NOT_APPLICABLE
    ]


def test_the_exit_code_names_the_obstacle() -> None:
    cases = (
        (0, checks.ok("a")),
        (0, checks.ok("a"), checks.warning("b", "c"), checks.not_applicable("e")),
        (0, checks.ok("a"), checks.unknown("no")),
        (4, checks.ok("a"), checks.unknown("no", needed=True)),
        (3, checks.failed("b", "c"), checks.unknown("e", needed=True)),
    )
    for code, *facts in cases:
        assert doctor.Diagnosis(MACHINE, tuple(facts)).exit_code == code


def test_the_document_is_stable() -> None:
    facts = (checks.failed("no", "do", name="xctrace"),)
    document = doctor.Diagnosis(MACHINE, facts, Capabilities(MACHINE, AT, (LAUNCH,))).document()
    identity = {"system_build": "25D2128", "xcode_build": "17C529", "chip": "Apple M1"}
    fact = {"words": "no", "fix": "do", "needed": True, "name": "xctrace", "verdict": "failed"}
    combination = {
        "mode": "launch", "counters": False, "backend": "metal", "rows": 150, "others": 12,
        "dispatches": 150, "counter_set": "", "counter_rows": None, "saving": 12.4, "failure": "",
        "warnings": [],
    }  # fmt: skip
    capabilities = {"identity": identity, "probed": AT, "combinations": [combination], "format": 1}
    assert list(json.loads(msgspec.json.encode(document)).items()) == [
        ("format", 1), ("identity", identity), ("facts", [fact]), ("capabilities", capabilities),
        ("exit_code", 3),
    ]  # fmt: skip


def verdicts(result: Any) -> dict[str, str]:
    return {fact["name"]: fact["verdict"] for fact in json.loads(result.out)["facts"]}


@pytest.mark.processes
@pytest.mark.skipif("sys.platform == 'darwin'", reason="a Mac without Xcode is not as it should be")
def test_without_xcrun_linux_is_as_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracekit: Any
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = tracekit("doctor", "--json")
    verdict_by_name = verdicts(result)
    assert (result.code, verdict_by_name["host recorder"], verdict_by_name["xctrace"]) == (
        0,
        "ok",
        "not applicable",
    )
    result = tracekit("doctor", "--probe")
    assert (result.code, "--recorder host" in result.err) == (3, True)


def test_a_probe_is_shown_and_followed(
    scenario: Callable[..., None], tmp_path: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario(busy=True)
    failed = Combination("attach", counters=True, failure="It hung.")
    kept_matrix = replace(
        FOUND, identity=DoctorSurroundings().identity, combinations=(COUNTED, failed)
    )
    doctor.keep(kept_matrix, notes_folder())
    assert verdicts(tracekit("doctor", "--json"))["probe: counters"] == "ok"
    folder = tmp_path / "run"
    assert tracekit("record", "--output", folder, "--", "/bin/true").code == 0
    provenance = Recording(folder).provenance()
    assert provenance.capabilities == kept_matrix
    assert any("--counters off" in text for text in provenance.warnings)
    assert "Metal GPU Counters" in provenance.command_lines[0]
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "999999999")
    probed = doctor.probe_machine(DoctorSurroundings())
    assert (probed.identity, len(probed.combinations)) == (kept_matrix.identity, 4)
    scenario(toolchain="licence")
    result = tracekit("doctor")
    assert (result.code, "xcodebuild -license" in result.out) == (3, True)
