"""analysis/rules."""
