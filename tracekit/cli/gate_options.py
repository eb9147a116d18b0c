"""The options of `gate`."""

from pathlib import Path
from typing import Annotated

import typer

What = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="NIGHT | A B | A1 A2 … vs B1 B2 …",
        help="A night: its id, the beginning of it, or its folder; or runs.  [default: latest]",
        show_default=False,
    ),
]
Plan = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The plan of the night.  [default: the nearest one]"),
]
History = Annotated[
    str, typer.Option(metavar="URL", help="Look for the night in this history.", show_default=False)
]
MaxAge = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="A night that began longer ago is inconclusive: 36h, 2d.",
        show_default=False,
    ),
]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.")]
OpenMetrics = Annotated[
    Path | None,
    typer.Option("--openmetrics", metavar="FILE", help="Write metrics for a textfile collector."),
]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE|-", help="Write Markdown, or print it.")
]
Summary = Annotated[
    bool | None,
    typer.Option(
        "--summary/--no-summary",
        help="Add it to $GITHUB_STEP_SUMMARY.  [default: where that is set]",
        show_default=False,
    ),
]
Annotations = Annotated[
    bool | None,
    typer.Option(
        "--annotations/--no-annotations",
        help="Print annotations of GitHub.  [default: in GitHub Actions]",
        show_default=False,
    ),
]
OnRegression = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="Run it, without a shell, if there is a regression.",
        show_default=False,
    ),
]
Bisect = Annotated[
    bool,
    typer.Option("--bisect", help="End as git bisect run wants it: 3 and 4 are 125, skip."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the gate's report as JSON.")]
MetricName = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="Of runs: metric that decides; again for more."),
]
Threshold = Annotated[
    float | None,
    typer.Option(min=0, max=10, metavar="SHARE", help="Of runs: least change that matters."),
]
Force = Annotated[bool, typer.Option("--force", help="Of runs: compare even unlike work.")]
