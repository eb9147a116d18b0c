"""The fast reader of exports: numpy over whole blocks of plain tables, and nothing else."""
