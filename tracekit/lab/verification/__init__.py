"""Kernels verified without a Mac: what they must do, and what is found of them."""

from tracekit.lab.verification.check import Check, check
from tracekit.lab.verification.verdict import Outcome, Question, Verdict, Verification

__all__ = ["Check", "Outcome", "Question", "Verdict", "Verification", "check"]
