"""Many results: what changed between runs, and how sure that is."""
