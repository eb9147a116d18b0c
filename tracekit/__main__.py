"""`python -m tracekit` is `tracekit`."""

from tracekit.cli.main import main

main()
