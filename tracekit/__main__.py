"""`python -m tracekit` is `tracekit`."""

from tracekit.cli import main

main()
