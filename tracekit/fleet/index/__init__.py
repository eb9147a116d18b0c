"""All runs of a folder on one page."""
