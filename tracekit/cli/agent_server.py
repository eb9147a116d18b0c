"""`mcp`: recordings for agents, by the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

from tracekit.base import InterruptedRunError, distribution
from tracekit.cli import answers, console, options
from tracekit.cli.options import flag, option

_DEFAULT = Path("bench/traces")
ReadFolders = Annotated[
    list[Path] | None,
    option(
        "DIR",
        "Folder that may be read; may be given again.  [default: bench/traces]",
        "--folder",
    ),
]
MayCapture = Annotated[
    bool, flag("--allow-capture", "Let the agent record shipped workloads into the first folder.")
]


def mcp(
    *,
    folder: ReadFolders = None,
    allow_capture: MayCapture = False,
    json: options.Json = False,
) -> None:
    """Serve recordings to an agent, by the Model Context Protocol on stdin and stdout.

    Eight tools list and sum up recordings, explain findings with their evidence, describe tables,
    answer SQL, compare, and examine the machine. Only recordings in the given folders can be read:
    no link, path or query leads out of them. Nothing is written into them, and nothing is recorded
    without --allow-capture. An answer has at most 2,500 tokens. --json prints the tools and ends.
    """
    distribution.require_extra("mcp")
    from tracekit import mcp as face

    if json:
        tools, tokens = face.server.describe_tools(may_capture=allow_capture)
        console.show_json(answers.AgentTools(tuple(tools), tokens))
        return
    try:
        face.server.serve(folder or [_DEFAULT], may_capture=allow_capture)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("The server was stopped.") from stop
