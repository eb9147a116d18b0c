"""Candidate and reference, measured in turns in one sitting."""
