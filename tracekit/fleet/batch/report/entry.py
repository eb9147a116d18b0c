"""A recording of a batch, as its page needs it."""

from dataclasses import dataclass, field, fields

_RANKS = ("error", "warning", "note")
_UNKNOWN = len(_RANKS)


@dataclass(frozen=True)
class Finding:
    """What a rule found in it; the saving is milliseconds, None where there is no estimate."""

    rule: str
    severity: str
    message: str
    saving_ms: float | None = None


@dataclass(frozen=True)
class Entry:
    """A recording; `state` is ok or failed, `error` says why, `metrics` holds what is known."""

    recording: str
    state: str
    error: str = ""
    hint: str = ""
    template: str = ""
    instruments: str = ""
    device: str = ""
    workload: str = ""
    target: str = ""
    duration: float | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    findings: tuple[Finding, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether nothing is known of it but why."""
        return self.state != "ok"

    @property
    def tone(self) -> str:
        """What to think of it, as other pages say it in colour."""
        if self.failed:
            return "error"
        return next((name for name in _RANKS if name in self._severities), "good")

    @property
    def rank(self) -> tuple[int, float, str]:
        """Where it stands: what failed, the worst findings, the largest savings, by name."""
        place = -1 if self.failed else _RANKS.index(self.tone) if self._severities else _UNKNOWN
        return place, -sum(one.saving_ms or 0.0 for one in self.findings), self.recording

    @property
    def _severities(self) -> set[str]:
        return {one.severity for one in self.findings} & set(_RANKS)


COLUMNS = [one.name for one in fields(Entry)]
