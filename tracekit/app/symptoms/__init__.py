"""A checklist for a program that is slow, takes much memory, crashes or gives wrong numbers."""

from tracekit.app.symptoms import checklist as checklist
