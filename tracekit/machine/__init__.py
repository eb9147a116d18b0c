"""Which machine this is, what it can do, and in what state it is."""
