"""`open`: the page in the browser, the bundle in Instruments, the capture in Xcode."""

import shlex
from typing import Annotated, Literal

import typer

from tracekit.base.recording import Recording
from tracekit.cli import options

_What = Literal["page", "trace", "gputrace"]


def open_(
    run: options.RunFolder,
    *,
    page: Annotated[bool, typer.Option("--page", help="The page, in the browser.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="The bundle, in Instruments.")] = False,
    gputrace: Annotated[
        bool, typer.Option("--gputrace", help="The GPU frame capture, in Xcode.")
    ] = False,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the command line instead of running it.")
    ] = False,
) -> None:
    """Open a run's page, bundle or capture.

    Without an option the page is opened, or the capture of a run that has nothing else. A bundle
    is opened in the Instruments of the Xcode that recorded it, where that is still here.
    """
    from tracekit.cli import console
    from tracekit.cli.opening import opening, perform

    one = opening(Recording(run), _chosen(page=page, trace=trace, gputrace=gputrace))
    console.show_warnings(one.warnings)
    if only_print:
        console.show_line(shlex.join(one.argv))
    else:
        perform(one)


def _chosen(*, page: bool, trace: bool, gputrace: bool) -> _What | None:
    from tracekit.base.errors import UsageError

    if page + trace + gputrace > 1:
        raise UsageError("Open one thing at a time: --page, --trace or --gputrace.")
    return "page" if page else "trace" if trace else "gputrace" if gputrace else None
