"""A comparison in words, and as one page with the timelines of both sides."""
