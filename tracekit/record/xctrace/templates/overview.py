"""What this Xcode and its user have to record with, and what of it matters for Metal."""

from dataclasses import dataclass, field
from pathlib import Path

from tracekit.record.xctrace.command_line import GPU_COUNTERS, METAL_SYSTEM_TRACE
from tracekit.record.xctrace.templates.settings import instruments_app, template_files
from tracekit.record.xctrace.tool import Xctrace


@dataclass(frozen=True)
class Trial:
    """One machine's experience with one counter profile: one report each, none official."""

    chip: str
    profile: int
    outcome: str


TRIALS = (
    Trial("M1 Pro", 3, "Performance Limiters, 31 counters"),
    Trial("M1 Pro", 4, "utilisation and bandwidth, 16 counters"),
    Trial("M3, Xcode 26.5 (17F42)", 13, "Performance Limiters, 86 counters, with bandwidth"),
    Trial("M3, Xcode 26.5 (17F42)", 1, "rejected"),
    Trial("M3, Xcode 26.5 (17F42)", 3, "rejected"),
    Trial("M5 Max", 0, "RT Unit Active alone"),
    Trial("M5 Max", 1, "rejected"),
    Trial("M5 Max", 4, "rejected"),
    Trial("M5 Max", 13, "not tried"),
)


@dataclass(frozen=True)
class Overview:
    """The templates as xctrace lists them, and where GPU counters come from."""

    xctrace: str  # what `xctrace version` prints
    # names of templates under the headings that xctrace prints, in order
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # whether the template that tracekit records with is among them
    metal_system_trace: bool = False
    gpu_counters: str = ""  # the instrument that records GPU counters; empty if there is none
    instruments_app: str = ""  # the Instruments of that Xcode; empty if it was not found
    files: tuple[str, ...] = ()  # template files that were found; names of templates need no file

    @property
    def rows(self) -> list[tuple[str, str]]:
        """One row for each template: its heading and its name."""
        return [(heading, name) for heading, names in self.sections.items() for name in names]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else to know."""
        remarks: list[str] = []
        if not self.sections:
            remarks.append("xctrace listed no template in a form that is known.")
        elif not self.metal_system_trace:
            remarks.append(
                f"{METAL_SYSTEM_TRACE} is not among them: this Xcode cannot record GPU work."
            )
        if self.gpu_counters:
            remarks.append(
                f"GPU counters are no template: --counters on adds the instrument {GPU_COUNTERS}. "
                "Where a chip rejects its counters, a template file with a counter set may help: "
                "`tracekit templates make`."
            )
        else:
            remarks.append(
                f"This Xcode has no instrument {GPU_COUNTERS}; counters come from a template file "
                "that was saved in Instruments with a counter set, by --template PATH."
            )
        return tuple(remarks)


def overview(tool: Xctrace, home: Path) -> Overview:
    """Ask xctrace what there is; raise ToolError where it cannot answer."""
    sections = tool.sections("templates")
    app = instruments_app(tool.path)
    return Overview(
        xctrace=tool.version.text,
        sections=sections,
        metal_system_trace=any(METAL_SYSTEM_TRACE in names for names in sections.values()),
        gpu_counters=_counter_instrument(tool),
        instruments_app=str(app or ""),
        files=tuple(map(str, template_files(home, tool.path))),
    )


def _counter_instrument(tool: Xctrace) -> str:
    if not tool.knows("record", "--instrument"):
        return ""
    return GPU_COUNTERS if GPU_COUNTERS in tool.names("instruments") else ""
