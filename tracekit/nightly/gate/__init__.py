"""Whether a night's numbers are a regression, and how sure that is."""
