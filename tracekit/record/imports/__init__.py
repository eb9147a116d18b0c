"""Make a run's folder out of what someone else recorded.

Exports come with or without their TOC, in one folder or several, and are copied. A bundle is read
where it is, on any system; of one whose layout is not known, an xctrace exports the tables if
there is one. A zip file of a bundle is unpacked first. Nothing is moved or changed.
"""
