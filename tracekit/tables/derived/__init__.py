"""Tables made of other tables: joins that never repeat a row, and say what they could not match.

A join is a function. Its parameters name the tables it is made of; one of type
`DataFrame | None` is None where the recording has no such table. It returns `Joined`.
"""
