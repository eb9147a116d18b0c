"""Record, read and judge Metal traces."""
