"""The plan of a night, from `tracekit.toml` or `[tool.tracekit.nightly]` of `pyproject.toml`."""
