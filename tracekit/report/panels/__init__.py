"""report/panels."""
