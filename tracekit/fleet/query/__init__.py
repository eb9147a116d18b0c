"""Questions in SQL over every table of every run, answered by DuckDB.

Each normalized table is a view over all runs that have it. A table is made only when a question
names it, and DuckDB reads it from a private folder, so that memory stays bounded. DuckDB gets at
these files and at no others.
"""

from tracekit.base import distribution

distribution.require_extra("query")
