"""What goes wrong with xctrace in ways that are known: how to tell, what it means, what helps."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A failure that people have met before."""

    meaning: str  # one sentence for a user
    hint: str  # what to do about it
    code: int | None = None  # the exit code that goes with it; None where it is not known or varies
    # a regular expression found in what the tool said; empty if the code suffices
    pattern: str = ""
    passing: bool = False  # it may well be gone at the next try

    def fits(self, code: int, text: str) -> bool:
        """Tell whether a command that ended with `code` and said `text` has this problem."""
        return self.code in {None, code} and bool(re.search(self.pattern, text, re.IGNORECASE))


SELECT_XCODE = (
    "Install Xcode, then `sudo xcode-select --switch /Applications/Xcode.app`, or set "
    "DEVELOPER_DIR=/Applications/Xcode.app/Contents/Developer for one command."
)
NO_COUNTERS = "GPU counters are not available on this chip and Xcode"
WAYS_TO_COUNTERS = (
    "In Instruments choose Recording Options > GPU > Counter Set, save it as a template, and pass "
    "the file with --template; or `tracekit templates make` makes one with a counter profile that "
    "may work."
)
NO_DOCUMENT = Problem(
    "The bundle has no template document: its recorder is still at work or did not finish.",
    "Try `tracekit export` again; if it stays so, the recording is lost and must be repeated.",
    pattern=r"Document Missing Template Error",
    passing=True,
)
UNSUPPORTED_COUNTERS = Problem(
    f"{NO_COUNTERS}.",
    WAYS_TO_COUNTERS,
    pattern=r"Selected counter profile is not supported",
)
LICENCE = Problem(
    "The licence of Xcode has not been accepted.",
    "`sudo xcodebuild -license` shows it and asks.",
    69,
    r"licen[sc]e",
)

PROBLEMS = (
    Problem(
        "Only the Command Line Tools are installed or selected; xctrace comes with Xcode.",
        SELECT_XCODE,
        72,
        r'unable to find utility "xctrace"',
    ),
    Problem(
        "The Command Line Tools are selected; xctrace comes with Xcode.",
        SELECT_XCODE,
        1,
        r"requires Xcode, but active developer directory",
    ),
    LICENCE,
    NO_DOCUMENT,
    Problem(
        "There is no process with that id to attach to.",
        "Check that the program still runs.",
        pattern=r"Cannot find process for provided pid",
        passing=True,
    ),
    Problem(
        "Another recording holds this machine's performance counters.",
        "Stop other recorders and Instruments: only one can record at a time.",
        pattern=r"could not lock kperf",
        passing=True,
    ),
    UNSUPPORTED_COUNTERS,
    Problem(
        "There is no process of that name.",
        "Attach by process id instead.",
        19,
        r"Cannot find process matching name",
    ),
    Problem(
        "The device's name fits several devices.",
        "`xcrun xctrace list devices` tells them apart.",
        28,
        r"device parameter .* is ambiguous",
    ),
    Problem(
        "Two templates have this name.",
        "Pass the path of the template file with --template.",
        30,
        r"template parameter .* is ambiguous",
    ),
    Problem(
        "This Xcode has no such instrument.",
        "`xcrun xctrace list instruments` names those it has; a template is no instrument.",
        56,
        r"Instrument with name .* cannot be found",
    ),
    Problem(
        "The recording options do not hold every key of an instrument that they name.",
        "Start from what `xcrun xctrace record --show-recording-options` prints.",
        57,
        r"be read because it is missing",
    ),
    Problem(
        "The system does not let xctrace start a kernel trace.",
        "`DevToolsSecurity -status` tells whether Developer Mode is on; hosted and virtual "
        "machines may not allow it at all.",
        None,
        r"Failed starting ktrace session",
    ),
    Problem(
        "An instrument may not look into this program.",
        "Remove the instrument, or sign the program with the get-task-allow entitlement.",
        None,
        r"Failed to gain authorization|get-task-allow|Failed to attach to target",
    ),
    Problem(
        "The disk is full.",
        "Make room: a recording and its staging files can take several gigabytes.",
        None,
        r"No space left on device",
    ),
)


def recognize(code: int, text: str) -> Problem | None:
    """Return the known problem that a failed command had, or None."""
    return next((problem for problem in PROBLEMS if problem.fits(code, text)), None)
