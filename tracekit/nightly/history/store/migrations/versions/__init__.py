"""One module for each version of the tables, each a step from the one before."""
