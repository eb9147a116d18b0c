"""The fast reader of exports: numpy over whole blocks of plain tables, and nothing else."""

from tracekit.tables.xml.fast.reader import FastReader, IrregularError

__all__ = ["FastReader", "IrregularError"]
