"""What xctrace prints, word for word, where people have recorded it."""

# Only the first line is known word for word; these are the flags of the man page that it takes.
HELP_RECORD = """\
usage: xctrace record [<options>] [--attach | --all-processes | --launch -- command ]

    --output <path>
    --template <path|name>
    --instrument <name>
    --time-limit <time[ms|s|m|h]>
    --attach <pid|name>
    --launch -- command
    --target-stdout <- | file>
    --env <VAR=value>
    --no-prompt
    --notify-tracing-started <name>
"""
VERSION = "xctrace version 26.0 (17C529)"
# Some of the 25 of Xcode 26.3, and of the 64 of Xcode 27: only those that tests speak of.
TEMPLATES = """\
== Standard Templates ==
Activity Monitor
CPU Counters
Metal System Trace
System Trace
Time Profiler
"""
INSTRUMENTS = """\
== Standard Instruments ==
Activity Monitor
Allocations
GPU
Metal Application
Metal GPU Counters
Metal Resource Events
Time Profiler
"""
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
