"""A night: its plan carried out, judged, written down and told."""
