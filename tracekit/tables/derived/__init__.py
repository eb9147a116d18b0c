"""Tables made of other tables: joins that never repeat a row, and say what they could not match.

A join is a function. Its parameters name the tables it is made of; one of type
`DataFrame | None` is None where the recording has no such table. It returns `Joined`.
"""

from tracekit.tables.derived.asked import Asked, asked
from tracekit.tables.derived.joined import Joined, conformed
from tracekit.tables.derived.making import Made, first_with_rows, made

__all__ = ["Asked", "Joined", "Made", "asked", "conformed", "first_with_rows", "made"]
