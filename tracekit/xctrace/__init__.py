"""xctrace."""
