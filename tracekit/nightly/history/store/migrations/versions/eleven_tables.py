"""Version 1: a night's document, and all that is in it once more as rows of seven tables.

No history begins with these tables now; `documents` takes what is in them.
"""

revision = "0001"
down_revision = None
