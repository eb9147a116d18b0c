from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from lxml import etree

from tracekit.record.host.session import Session, write_toc

SESSION = Session(
    pid=7,
    name="python",
    kind="launched",
    arguments=("-m", "bench", "two words"),
    origin=1_000_000_000,
    started="2026-01-01T00:00:00.000+00:00",
    end=3_500_000_000,
    ended="2026-01-01T00:00:02.500+00:00",
    end_reason="Target exited",
    exit_status=0,
    time_limit=10.0,
    machine={"system": "Linux", "release": "6.1", "chip": "Fast & Furious"},
)

GOLDEN = f"""\
<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info>
            <target>
                <device platform="Linux" model="Fast &amp; Furious" os-version="Linux 6.1"/>
                <process type="launched" arguments="-m bench 'two words'" return-exit-status="0" \
termination-reason="exit(0)" name="python" pid="7"/>
            </target>
            <summary>
                <start-date>2026-01-01T00:00:00.000+00:00</start-date>
                <end-date>2026-01-01T00:00:02.500+00:00</end-date>
                <duration>2.500000</duration>
                <end-reason>Target exited</end-reason>
                <instruments-version>tracekit host recorder {version("tracekit")}\
</instruments-version>
                <recording-mode>Host</recording-mode>
                <time-limit>10 seconds</time-limit>
            </summary>
        </info>
        <processes>
            <process name="python" pid="7"/>
        </processes>
        <data>
            <table schema="host-phases"/>
            <table schema="host-steps"/>
        </data>
        <tracks/>
    </run>
</trace-toc>
"""


def test_a_toc_to_the_letter(tmp_path: Path) -> None:
    write_toc(tmp_path / "toc.xml", SESSION, ["host-phases", "host-steps"])
    assert (tmp_path / "toc.xml").read_text() == GOLDEN


def test_a_signal_is_a_termination(tmp_path: Path) -> None:
    write_toc(tmp_path / "toc.xml", replace(SESSION, exit_status=-9), [])
    target = etree.parse(tmp_path / "toc.xml").find("run/info/target/process")
    assert target is not None
    assert target.get("return-exit-status") == "-9"
    assert target.get("termination-reason") == "signal(9)"


def test_an_open_session_lasts_until_the_last_moment_known(tmp_path: Path) -> None:
    write_toc(tmp_path / "toc.xml", replace(SESSION, end=0), [], last=1_250_000_000)
    summary = etree.parse(tmp_path / "toc.xml").find("run/info/summary")
    assert summary is not None
    assert summary.findtext("duration") == "0.250000"


def test_hostile_names_are_harmless(tmp_path: Path) -> None:
    name = 'x"/><evil>&\x00\x1b'
    hostile = replace(SESSION, name=name, arguments=("\ud800", "]]>"))
    write_toc(tmp_path / "toc.xml", hostile, [])
    process = etree.parse(tmp_path / "toc.xml").find("run/processes/process")
    assert process is not None
    assert process.get("name") == 'x"/><evil>&\ufffd\ufffd'
