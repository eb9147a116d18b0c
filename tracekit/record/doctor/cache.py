"""What a probe found, kept in the user's cache: one file for each machine."""

import logging
import re
from pathlib import Path

import msgspec

from tracekit.base.capabilities import FORMAT, Capabilities, Identity
from tracekit.base.recording import save

log = logging.getLogger(__name__)


def keep(capabilities: Capabilities, where: Path) -> Path:
    """Write the matrix in place of an older one of the same machine; return its file.

    Raises:
        RecordingError: The cache cannot be written.
    """
    file = _file(capabilities.identity, where)
    save(file, capabilities)
    return file


def recall_probe(identity: Identity, where: Path) -> Capabilities | None:
    """Return what was found on this very machine; None where it was never probed.

    What another build of the system or of Xcode showed does not count, nor what cannot be read.
    """
    file = _file(identity, where)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Capabilities)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read, so nothing is known of this machine: %s", file, error)
        return None
    return found if (found.format, found.identity) == (FORMAT, identity) else None


def _file(identity: Identity, where: Path) -> Path:
    parts = (identity.system_build, identity.xcode_build, identity.chip)
    words = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-") or "unknown" for part in parts)
    return where / f"capabilities-{'_'.join(words)}.json"
