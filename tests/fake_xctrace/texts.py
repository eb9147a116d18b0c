"""What xctrace prints, word for word, where people have recorded it."""

HELP = """\
usage:
    xctrace <command> [options]

global options:
    -q, --quiet

commands:
    record                                      Perform new recording using specified template
    import                                      Import file of a supported format into .trace file
    export                                      Export .trace file content to an external format
    remodel                                     Remodel .trace using currently installed modelers
    symbolicate                                 Symbolicate .trace file using specified dSYM
    list [devices|templates|instruments]        List capabilities of the current running environment
    version                                     Print version of the tool

further help:
     xctrace help <command>
"""

# Only the first line of each is known word for word; the flags are those of the man page.
HELP_OF = {
    "record": """\
usage: xctrace record [<options>] [--attach | --all-processes | --launch -- command ]

    --output <path>
    --append-run
    --run-name <name>
    --template <path|name>
    --instrument <name>
    --device <name|UDID>
    --time-limit <time[ms|s|m|h]>
    --window <duration[ms|s|m]>
    --all-processes
    --attach <pid|name>
    --launch -- command
    --target-stdin <- | file>
    --target-stdout <- | file>
    --env <VAR=value>
    --package <file>
    --no-prompt
    --notify-tracing-started <name>
    --recording-options <file>
    --show-recording-options
""",
    "export": "usage: xctrace export [<options>] [--toc | --xpath expression]\n",
    "import": "usage: xctrace import [<options>]\n",
    "symbolicate": "usage: xctrace symbolicate [<options>] [--dsym path]\n",
    "list": "usage: xctrace list [devices|templates|instruments]\n",
}

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
Time Profiler
"""

TOOLCHAIN = {
    "no-tool": (
        72,
        'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH',
    ),
    "command-line-tools": (
        1,
        (
            "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory "
            "'/Library/Developer/CommandLineTools' is a command line tools instance"
        ),
    ),
    "licence": (69, "You have not agreed to the Xcode license agreements."),
}

CTRL_C = "Ctrl-C to stop the recording"
LIMIT_REACHED = "Reached specified time limit, ending recording..."
TARGET_EXITED = "Target app exited, ending recording..."
STOPPING = "Stopping recording..."
COMPLETED = "Recording completed. Saving output file..."
FAILED = "Recording failed with errors. Saving output file..."
ISSUES = "Run issues were detected (trace is still ready to be viewed):"
NO_TEMPLATE = "Export failed: Document Missing Template Error"
ISSUE_OF_PASSWORD = (
    "Failed to gain authorization\n"
    "Recovery Suggestion: Target binary needs to be debuggable and signed with 'get-task-allow"
)
PASSWORD = (
    "xctrace: Instruments wants permission to analyze other processes. Please enter an "
    "administrator username and password to allow this."
)
UNSUPPORTED_COUNTERS = (
    "GPU Service reported error: Selected counter profile is not supported on target device"
)
NO_MATCH = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
