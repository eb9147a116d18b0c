"""Templates of Instruments: which there are, and copies with settings switched on.

A template file is a keyed archive. It is read and edited as a plain property list: nothing is
ever constructed from it, and a file that exists is never written.
"""
