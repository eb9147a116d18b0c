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

TEMPLATES = """\
== Standard Templates ==
Activity Monitor
Allocations
Animation Hitches
App Launch
Audio System Trace
CPU Counters
CPU Profiler
Core ML
Data Persistence
File Activity
Game Memory
Game Performance
Game Performance Overview
Leaks
Logging
Metal System Trace
Network
Power Profiler
Processor Trace
RealityKit Trace
Swift Concurrency
SwiftUI
System Trace
Tailspin
Time Profiler
"""

# Those of Xcode 27, which are the only ones on record in full.
INSTRUMENTS = """\
== Standard Instruments ==
Activity Monitor
Advanced Graphics Statistics
Allocations
Audio Client
Audio Server
Audio Statistics
Core AI
Core Animation Activity
Core Animation Commits
Core Animation FPS
Core Animation Server
Core ML
CPU Counters
CPU Profiler
Data Faults
Data Fetches
Data Saves
Disk I/O Latency
Disk Usage
Display
dyld Activity
Filesystem Activity
Filesystem Suggestions
Foundation Models
Foveated Streaming Statistics
Frame Lifetimes
GCD Performance
GPU
Hangs
Hitches
HTTP Traffic
Leaks
Location Energy Model
Metal Application
Metal GPU Counters
Metal Performance Overview
Metal Resource Events
Network Connections
Neural Engine
os_log
os_signpost
Points of Interest
Power Profiler
Processor Trace
RealityKit Frames
RealityKit Metrics
Run Loops
Sampler
SceneKit Application
stdout/stderr
Swift Actors
Swift Executors
Swift Tasks
SwiftUI
System Call Trace
System Load
Thermal State
Thread Activity
Thread State Trace
Time Profiler
View Body (Legacy)
View Properties (Legacy)
Virtual Memory Trace
VM Tracker
"""

DEVICES = """\
== Devices ==
Simon's MacBook Air (32D0933B-4ACF-5447-843D-08EDBE1B1471)
Test iPhone (17.0) (00008130-AAAAAAAAAAAAAAAA)

== Devices Offline ==
Simon (26.5) (00008130-00045D9E30E1401C)

== Simulators ==
iPhone 17 Pro Simulator (27.0) (74D241BA-A90B-43CD-9A3C-EC05D55DA5FE)
iPhone 17 Simulator (27.0) + Apple Watch Ultra 3 (49mm) (27.0) \
(DE78AB78-3644-492A-ACE0-8A12799FDF5C)
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
PARTIAL_OPTIONS = "The data couldn't be read because it is missing"
UNSUPPORTED_COUNTERS = (
    "GPU Service reported error: Selected counter profile is not supported on target device"
)
NO_MATCH = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
