"""The recorder for machines without xctrace, and the writer of exports."""
