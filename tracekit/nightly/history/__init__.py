"""Every night that was kept, and what was decided about it."""
