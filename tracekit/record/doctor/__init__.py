"""Is this machine ready to record? Facts, verdicts, and what it has shown to work."""
