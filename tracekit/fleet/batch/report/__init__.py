"""Many recordings on one page."""
