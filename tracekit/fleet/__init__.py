"""Many recordings at once: batch, query, index."""
