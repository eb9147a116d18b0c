"""The numbers of records as cells: the meaning of each type, and its texts."""
