"""All series over the nights, on one page."""
