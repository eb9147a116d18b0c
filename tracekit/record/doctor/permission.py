"""Facts of permission: developer mode, and the group that need not ask for it."""

from collections.abc import Iterator

from tracekit.record.doctor.fact import Fact, not_applicable, ok, unknown, warning
from tracekit.record.doctor.surroundings import Surroundings

_GROUP = "_developer"
_SAID_ON = "Developer mode is currently enabled."
_SAID_OFF = "Developer mode is currently disabled."


def permission_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at developer mode and at the groups of this user."""
    if not surroundings.on_mac:
        why = f"A switch of macOS, and this is {surroundings.system}."
        yield not_applicable("developer mode", why)
        yield not_applicable("developer group", why)
        return
    yield _mode(surroundings)
    yield _group(surroundings)


def _mode(surroundings: Surroundings) -> Fact:
    name = "developer mode"
    said = surroundings.answer("/usr/sbin/DevToolsSecurity", "-status")
    if said == _SAID_ON:
        return ok(name, "enabled")
    if said == _SAID_OFF:
        return warning(
            name,
            "disabled: macOS may ask for a password, or refuse to start a kernel trace.",
            "`sudo DevToolsSecurity -enable`, once.",
        )
    words = f"`DevToolsSecurity -status` says {said!r}." if said else "It does not say."
    return unknown(name, words, "Run `DevToolsSecurity -status` by hand.", needed=True)


def _group(surroundings: Surroundings) -> Fact:
    name = "developer group"
    groups = surroundings.answer("/usr/bin/id", "-Gn").split()
    if not groups:
        return unknown(name, "`id -Gn` names no group.")
    if _GROUP in groups:
        return ok(name, f"this user is in {_GROUP}")
    return warning(
        name,
        f"This user is not in {_GROUP}: macOS may ask for a password before it records.",
        f'`sudo dseditgroup -o edit -a "$USER" -t user {_GROUP}`, then log in anew.',
    )
