"""The fast reader of exports: numpy over whole blocks of plain tables, and nothing else."""

from tracekit.tables.xml.fast.irregular import IrregularError
from tracekit.tables.xml.fast.reader import FastReader

__all__ = ["FastReader", "IrregularError"]
