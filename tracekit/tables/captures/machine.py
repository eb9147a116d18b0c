"""The machine on which a frame was captured, from the archive of its device."""

from tracekit.tables.bundle.container.keyed import Archive

_MACHINE = {"productType": "model", "version": "release", "build": "build"}


def describe_machine(archive: Archive) -> dict[str, str]:
    """Return model, release and build of the system, chip and version of Metal, if stated.

    Never the name or the identifier of the machine.
    """
    machine: dict[str, str] = {}
    root = archive.root
    for key, name in _MACHINE.items():
        text = archive.text(archive.part(root, key))
        if text:
            machine[name] = text
    metal = archive.text(archive.part(root, "metalVersion"))
    if metal:
        machine["metal"] = metal
    profiles = archive.part(root, "supportedGLProfileContextsInfo")
    if profiles is not None:
        for profile in archive.sequence(profiles):
            chip = archive.text(archive.part(profile, "name"))
            if chip:
                machine["chip"] = chip
    return machine
