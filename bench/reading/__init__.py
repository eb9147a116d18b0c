"""Ways to read an export, each run alone in a fresh process and compared with the truth."""
