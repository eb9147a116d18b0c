"""What xctrace prints, word for word, where people have recorded it."""

from collections.abc import Sequence

USAGE = "usage: xctrace record [<options>] [--attach | --all-processes | --launch -- command ]"
DIALOG = (
    "xctrace: Instruments wants permission to analyze other processes. Please enter an "
    "administrator username and password to allow this."
)
TOOLCHAIN = {
    "licence": (69, "You have not agreed to the Xcode license agreements."),
    "missing": (
        72,
        'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH',
    ),
    "tools": (
        1,
        """xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory \
'/Library/Developer/CommandLineTools' is a command line tools instance""",
    ),
    # seen of other tools of Xcode; its code for xctrace is not on record
    "first_launch": (
        1,
        """xcodebuild failed to load a required plug-in. Ensure your system frameworks are \
up-to-date by running 'xcodebuild -runFirstLaunch'.""",
    ),
}

CTRL_C = "Ctrl-C to stop the recording"
LIMIT_REACHED = "Reached specified time limit, ending recording..."
TARGET_EXITED = "Target app exited, ending recording..."
STOPPING = "Stopping recording..."
COMPLETED = "Recording completed. Saving output file..."
FAILED = "Recording failed with errors. Saving output file..."
ISSUES = "Run issues were detected (trace is still ready to be viewed):"
NO_TEMPLATE = "Export failed: Document Missing Template Error"
NO_MATCH = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'

# A recording in another language: the words are not on record, only that there are some.
GERMAN = {
    "Starting recording with": "Aufnahme beginnt:",
    CTRL_C: "Mit Ctrl-C endet die Aufnahme",
    LIMIT_REACHED: "Zeitlimit erreicht, Aufnahme endet …",
    TARGET_EXITED: "Ziel wurde beendet, Aufnahme endet …",
    STOPPING: "Die Aufnahme endet …",
    COMPLETED: "Aufnahme fertig, Sicherung läuft …",
    FAILED: "Aufnahme mit Fehlern, Sicherung läuft …",
    "Output file saved as:": "Gesichert:",
}


def translate(line: str) -> str:
    """Return a line of a recording in another language."""
    for words, other_words in GERMAN.items():
        if line.startswith(words):
            return line.replace(words, other_words, 1)
    return line


def list_names(kind: str, names: list[str], own_names: Sequence[str] = ()) -> str:
    """Return a list of templates or instruments as xctrace prints it, with the user's own."""
    lines = [f"== Standard {kind} ==", *names]
    if own_names:
        lines += ["", f"== User {kind} ==", *own_names]
    return "\n".join(lines) + "\n"
