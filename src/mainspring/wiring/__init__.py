"""Assemble the program: the only place that names concrete adapters, the real clock and the real ids.

One module per assembled part; heavy libraries are imported when needed.
"""
