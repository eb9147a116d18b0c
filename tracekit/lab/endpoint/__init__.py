"""Measure a server that answers with a stream of tokens, from the outside."""

from tracekit.lab.endpoint import client as client
from tracekit.lab.endpoint import figures as figures
from tracekit.lab.endpoint import model_memory as model_memory
from tracekit.lab.endpoint import published as published
from tracekit.lab.endpoint import runtimes as runtimes
from tracekit.lab.endpoint import traffic as traffic
from tracekit.lab.endpoint import words as words
