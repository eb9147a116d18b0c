"""What differs from one Xcode to the next: version, lists, where they go, flags."""

import texts

# Xcode -> what `xctrace version` prints. Of 12 to 15 and 27 only the build is on record, or less.
VERSIONS = {
    "16.2": "xctrace version 16.0 (16C5032a)",
    "26.3": "xctrace version 26.0 (17C529)",
    "26.6": "xctrace version 16.0 (17F113)",
    "27.0": "xctrace version 27.0 (27A5194q)",
}
_OLD_TEMPLATES = (
    "Activity Monitor, Allocations, Animation Hitches, App Launch, Core Data, Counters, "
    "Energy Log, File Activity, Game Performance, Leaks, Logging, Metal System Trace, Network, "
    "SceneKit, SwiftUI, System Trace, Time Profiler, Zombies"
).split(", ")
_NEW_IN_15 = (
    "CPU Counters",
    "CPU Profiler",
    "Core ML",
    "Game Memory",
    "Swift Concurrency",
    "Tailspin",
)
_NAMES_OF_26 = texts.TEMPLATES.splitlines()[1:]
_GONE_IN_27 = {"Core ML", "Tailspin"}
_NEW_IN_27 = {"Core AI", "Foundation Models"}

# Flag of `record` -> the first Xcode whose man page has it.
FLAGS = {
    "--window": 12.5,
    "--no-prompt": 12.5,
    "--notify-tracing-started": 13.3,
    "--instrument": 14.0,
    "--run-name": 26.0,
    "--recording-options": 27.0,
    "--show-recording-options": 27.0,
}
_LISTS_INSTRUMENTS = 14.0
_LISTS_ON_STDERR = 14.0  # before it


def number(xcode: str) -> float:
    return float(xcode)


def templates(xcode: str) -> str:
    names = _NAMES_OF_26
    if number(xcode) < 15:
        names = _OLD_TEMPLATES
    elif number(xcode) < 26:
        names = sorted({*_OLD_TEMPLATES, *_NEW_IN_15}, key=str.casefold)
    elif number(xcode) >= 27:
        names = sorted({*_NAMES_OF_26, *_NEW_IN_27} - _GONE_IN_27, key=str.casefold)
    return "\n".join(("== Standard Templates ==", *names, ""))


def user_section(heading: str, names: list[str]) -> str:
    """Return the section of a user's own templates: "User" or "Custom", as two people saw it."""
    return "\n".join(("", f"== {heading} Templates ==", *names, ""))


def instruments(xcode: str) -> str:
    return texts.INSTRUMENTS if number(xcode) >= _LISTS_INSTRUMENTS else ""


def lists_on_stderr(xcode: str) -> bool:
    return number(xcode) < _LISTS_ON_STDERR


def devices(host: str) -> str:
    return texts.DEVICES.replace("Simon's MacBook Air", host)


def help_of_record(xcode: str) -> str:
    missing = {flag for flag, first in FLAGS.items() if number(xcode) < first}
    lines = texts.HELP_OF["record"].splitlines(keepends=True)
    return "".join(line for line in lines if line.strip().split(" ")[0] not in missing)
