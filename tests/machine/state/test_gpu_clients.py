"""What others take of the GPU, as ioreg prints it."""

import plistlib
from typing import Any

import pytest

from tracekit.machine.sources import Clients, others, read

SECOND = 1_000_000_000


def entry(number: Any, creator: Any, *times: Any, **more: Any) -> dict[str, Any]:
    return {
        "IOObjectClass": "AGXDeviceUserClient",
        "IORegistryEntryID": number,
        "IOUserClientCreator": creator,
        "AppUsage": [
            {"API": "Metal", "lastSubmittedTime": 1, "accumulatedGPUTime": one} for one in times
        ],
        **more,
    }


def printed(*entries: Any) -> bytes:
    return plistlib.dumps(list(entries))


def test_each_client_has_its_process_and_its_time() -> None:
    clients = read(
        printed(
            entry(101, "pid 42, python3.12", 5, 7),
            entry(102, 'pid 420, Window"Server', 100),
            entry(103, "pid 42, python3.12"),
        ),
        1.5,
    )
    assert clients == Clients(1.5, {101: (42, 12), 102: (420, 100), 103: (42, 0)})


@pytest.mark.parametrize(
    "strange",
    [
        entry("101", "pid 42, python3", 5),
        entry(101, "process 42", 5),
        entry(101, 42, 5),
        entry(101, "pid 42, python3", "5"),
        entry(101, "pid 42, python3", AppUsage={"accumulatedGPUTime": 5}),
        entry(101, "pid 42, python3", AppUsage=[5]),
        "text",
    ],
)
def test_what_does_not_look_so_is_no_reading(strange: Any) -> None:
    clients = read(printed(strange), 0.0)
    assert clients.by_entry == {}
    assert clients.why == "ioreg: no entry names a process and its time on the GPU."


def test_an_entry_that_is_strange_costs_no_other() -> None:
    assert read(printed({"AppUsage": []}, entry(7, "pid 1, a", 3)), 0.0).by_entry == {7: (1, 3)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"\n", "no entry names a process"),
        (b"+-o AGXDeviceUserClient", "ioreg prints no property list"),
        (b"<?xml version='1.0'?><plist><arr", "ioreg prints no property list"),
        (b"<?xml version='1.0' encoding='UPF-8'?><plist/>", "ioreg prints no property list"),
        (plistlib.dumps({"a": 1}), "no entry names a process"),
    ],
)
def test_what_is_no_list_is_a_reason(text: bytes, why: str) -> None:
    assert why in read(text, 0.0).why


def test_others_have_what_their_clients_gained() -> None:
    earlier = Clients(1.0, {1: (42, SECOND), 2: (420, 100), 3: (9, 50)})
    tenth = SECOND // 10
    later = Clients(3.0, {1: (42, 2 * SECOND), 2: (420, 100 + tenth), 4: (421, tenth)})
    assert others(earlier, later, {42}).readings == {"gpu_others": pytest.approx(0.1)}
    assert others(earlier, later, {42, 420, 421}).readings == {"gpu_others": 0.0}
    # an entry that became another's counts again
    another = Clients(2.0, {1: (43, SECOND // 2)})
    assert others(earlier, another, ()).readings == {"gpu_others": 0.5}


def test_without_entries_the_reason_is_reported() -> None:
    blind, seeing = Clients(0.0, why="no root."), Clients(1.0, {1: (1, 1)})
    for pair in ((blind, seeing), (seeing, blind)):
        assert others(*pair, ()).absences == {"gpu_others": "no root."}
    assert "no time passed" in others(seeing, seeing, ()).absences["gpu_others"]
