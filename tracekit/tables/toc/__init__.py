"""The table of contents of a trace: what was recorded, of whom, and which tables there are."""
