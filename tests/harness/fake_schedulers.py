"""What fake launchctl and systemctl were told and asked, and the files that lie around."""

import json
import os
from pathlib import Path


class Fakes:
    """Programs on PATH, their state, and what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state.json"
        self.tell()

    def tell(self, **keys: object) -> None:
        """Direct them; see the heads of the programs."""
        self.state.write_text(json.dumps(self.known | keys))

    @property
    def known(self) -> dict[str, object]:
        """Their state."""
        return json.loads(self.state.read_text()) if self.state.exists() else {}

    @property
    def asked(self) -> list[list[str]]:
        """All command lines."""
        log = self.folder / "asked.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def verbs(self) -> list[str]:
        """What was asked for, without looks."""
        looks = {"print", "show", "show-user"}
        words = ([one for one in line[1:] if not one.startswith("-")] for line in self.asked)
        return [one[0] for one in words if one[0] not in looks]


def agents() -> list[Path]:
    """Return all files where agents lie."""
    return sorted(Path(os.environ["HOME"], "Library", "LaunchAgents").glob("*"))


def units() -> list[Path]:
    """Return all units of ours, links to them included."""
    return sorted(Path(os.environ["HOME"], ".config", "systemd", "user").rglob("tracekit*"))
