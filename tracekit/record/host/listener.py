"""Follows a worker's journal while it is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec


@dataclass
class Listener:
    """What the worker's marks have said so far, as far as a recorder must know.

    `phase` is the worker's, `entered` when it entered it, in monotonic ns; `paused` tells
    that it wants to run unrecorded for a while; `busy` is the moment, in monotonic ns, up to
    which it means to be at work.
    """

    journal: Path | None
    phase: str = ""
    entered: int = 0
    steady: int | None = None
    paused: bool = False
    busy: int = 0
    _offset: int = 0

    def listen(self) -> bool:
        """Read what is new; return whether the worker entered another phase."""
        before = self.phase
        for line in self._news():
            if b'"mark":"step"' in line:
                continue
            try:
                values = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError:
                continue
            self._heed(values)
        return self.phase != before

    def _heed(self, values: dict[str, Any]) -> None:
        match values:
            case {"mark": "phase", "name": str(name), "start": int(start)}:
                self.phase, self.entered = name, start
                if name == "steady":
                    self.steady = start
            case {"mark": "sampling", "on": bool(on)}:
                self.paused = not on
            case {"mark": "busy", "until": int(until)}:
                self.busy = until
            case {"mark": "end"}:
                self.paused = False
            case _:
                pass

    def _news(self) -> list[bytes]:
        if self.journal is None:
            return []
        try:
            with self.journal.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()
