"""Random programs on a small machine of host threads, queues and devices, with the truth of it.

Nothing here knows the analysis: who held a device up is read off what threads and devices did.
"""
