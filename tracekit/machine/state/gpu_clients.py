"""What other processes take of the GPU, as macOS accounts for it: nanoseconds of each client.

Each user of the GPU has entries of the class AGXDeviceUserClient in the I/O registry, with its
pid in IOUserClientCreator and its time so far in AppUsage. Apple does not document them; what
does not look so is no reading. No root is needed.
"""

import plistlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.machine.state.known import Known, absent

IOREG_COMMAND = ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "AGXDeviceUserClient")

_CREATOR = re.compile(r"pid (\d+)\b")


@dataclass(frozen=True)
class Client:
    """One user of the GPU: whose it is, and the time it has had so far, in ns."""

    pid: int
    had: int


@dataclass(frozen=True)
class Clients:
    """All users of the GPU at a moment, by the entry's id; `why` says why there are none.

    `at` is seconds of the monotonic clock.
    """

    at: float
    by_entry: dict[int, Client] = field(default_factory=dict[int, Client])
    why: str = ""


def read(printed: bytes, at: float) -> Clients:
    """Read the property list that `COMMAND` prints."""
    try:
        found: Any = plistlib.loads(printed.strip()) if printed.strip() else []
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return Clients(at, why=f"ioreg prints no property list: {error}.")
    if not isinstance(found, list):
        return Clients(at, why="ioreg prints no list of entries.")
    entries: Sequence[Any] = found
    by_entry = dict(one for one in map(_client, entries) if one is not None)
    if by_entry:
        return Clients(at, by_entry)
    seen = f"none of {len(entries)} entries names" if entries else "there are no entries that name"
    return Clients(at, why=f"ioreg: {seen} a process and its time on the GPU.")


def others(earlier: Clients, later: Clients, ours: Collection[int]) -> Known:
    """Return `gpu_others`: the GPU's time that went to processes that are not ours, as a ratio.

    A client that has ended since takes its count with it, so what it had is not known.
    """
    why = earlier.why or later.why
    elapsed = (later.at - earlier.at) * 1e9
    if why or elapsed <= 0:
        return absent(why or "no time passed between two looks.", "gpu_others")
    taken = sum(
        max(0, one.had - _before(earlier, entry, one))
        for entry, one in later.by_entry.items()
        if one.pid not in ours
    )
    return Known({"gpu_others": taken / elapsed})


def _before(earlier: Clients, entry: int, now: Client) -> int:
    then = earlier.by_entry.get(entry)
    return then.had if then is not None and then.pid == now.pid else 0


def _client(entry: Any) -> tuple[int, Client] | None:
    if not isinstance(entry, Mapping):
        return None
    match entry:
        case {"IORegistryEntryID": int(number), "IOUserClientCreator": str(creator)}:
            who, had = _CREATOR.match(creator), _had(entry.get("AppUsage"))
            return None if who is None or had is None else (number, Client(int(who[1]), had))
        case _:
            return None


def _had(usage: Any) -> int | None:
    """Return the time of all of a client's uses; None where it is not told as expected."""
    if not isinstance(usage, list):
        return None
    total = 0
    for one in usage:
        match one:
            case {"accumulatedGPUTime": int(nanoseconds)}:
                total += nanoseconds
            case _:
                return None
    return total
